"""Which words of a paragraph answer a question: SQuAD v1.1 (Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.corpora.json_values import parse
from headscope.models.loaded_model import Head
from headscope.tasks.data import DataOptions, PartSource, drawn
from headscope.tasks.example import Answer, Example, Prepared, Split
from headscope.tasks.task import Task
from headscope.types import Sequence as Text

#: The longest answer in tokens that is looked for, as in the papers' code.
MAX_ANSWER_TOKENS = 30


def normalised(answer: str) -> str:
    """Lower-cased, without punctuation, articles and superfluous white space.

    >>> normalised("The  Denver Broncos!")
    'denver broncos'
    """
    bare = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def exact_match(said: str, gold: str) -> float:
    """1 if both are the same after normalising, else 0."""
    return float(normalised(said) == normalised(gold))


def word_f1(said: str, gold: str) -> float:
    """F1 of the bags of words after normalising.

    >>> round(word_f1("the Denver Broncos team", "Broncos"), 3)      # precision 1/3, recall 1
    0.5
    """
    mine, theirs = normalised(said).split(), normalised(gold).split()
    if not mine or not theirs:
        return float(mine == theirs)
    n_same = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * n_same / (len(mine) + len(theirs))


def best_spans(
    start: Float[Tensor, "batch token"], end: Float[Tensor, "batch token"], inside: Tensor
) -> Tensor:
    """The first and last token of the likeliest answer of every row, within the paragraph.

    The pair with the largest start + end logit with start ≤ end, at most `MAX_ANSWER_TOKENS` long.
    """
    lowest = torch.finfo(start.dtype).min / 4
    start, end = start.masked_fill(~inside, lowest), end.masked_fill(~inside, lowest)
    n_tokens = start.shape[1]
    longest = min(MAX_ANSWER_TOKENS, n_tokens)
    # windows[b, i, k] is the end logit k tokens after i
    padded = functional.pad(end, (0, longest - 1), value=lowest)
    windows = padded.unfold(1, longest, 1)
    flat = (start[:, :, None] + windows).flatten(1).argmax(dim=1)
    first = flat // longest
    return torch.stack([first, first + flat % longest], dim=1)


@dataclass(frozen=True)
class Questions(Task):
    """The answer's first and last token in the paragraph, scored against every gold answer.

    The loss is the mean of −ln p(first) and −ln p(last). A paragraph that is too long is cut; an
    answer beyond the cut cannot be found, and counts as wrong. One file alone is halved by
    articles: the first half to learn from, the second to be tested on.
    """

    head: Head = "question-answering"
    metrics: tuple[str, ...] = ("answer_f1", "exact_match")
    columns: tuple[str, ...] = ("loss", "exact", "f1")
    halves: bool = True
    max_tokens: int = 384

    def read(self, source: PartSource, options: DataOptions) -> Split:
        whole = parse(source.source.text(), source.source)
        articles = _get(whole, "data", list, "top level", source)
        if source.half:
            middle = len(articles) // 2
            first = source.part == "train"
            numbered = list(enumerate(articles))
            chosen = numbered[:middle] if first else numbered[middle:]
        else:
            chosen = list(enumerate(articles))
        examples = [
            example
            for i, article in chosen
            for example in _questions(article, f"data[{i}]", source)
        ]
        kept = drawn(examples, options, source)
        return Split(source.part, tuple(kept), (source.source.name,), source.fingerprint(options))

    def target(self, prepared: Prepared) -> tuple[int, int] | None:
        """The tokens of the first gold answer; None if the paragraph was cut before its end."""
        gold = prepared.example.gold
        encoded = prepared.encoded
        if not isinstance(gold, tuple) or not gold:
            return None
        answer = gold[0]
        stop = answer.start + len(answer.text)
        starts, ends = encoded.offsets[:, 0], encoded.offsets[:, 1]
        inside = (encoded.segments == 1) & (ends > answer.start) & (starts < stop)
        at = np.flatnonzero(inside)
        if not len(at) or ends[at[-1]] < stop - 1:
            return None
        return int(at[0]), int(at[-1])

    def inputs(self, model: Any, prepared: Sequence[Prepared]) -> tuple[Any, Tensor]:
        known = [
            p if p.target is not None else Prepared(p.encoded, p.example, (-100, -100))
            for p in prepared
        ]
        return super().inputs(model, known)

    def losses(self, output: Any, labels: Tensor) -> Float[Tensor, " batch"]:
        """0, without a gradient, for an example without a target."""
        parts = [
            functional.cross_entropy(
                logits.float(), labels[:, i], reduction="none", ignore_index=-100
            )
            for i, logits in enumerate((output.start_logits, output.end_logits))
        ]
        mean = (parts[0] + parts[1]) / 2
        return mean.masked_fill(labels[:, 0] == -100, 0.0)

    def answers(
        self, output: Any, labels: Tensor, prepared: Sequence[Prepared]
    ) -> NDArray[np.float64]:
        n_tokens = output.start_logits.shape[1]
        inside = np.zeros((len(prepared), n_tokens), dtype=bool)
        for row, one in enumerate(prepared):
            inside[row, : one.n_tokens] = one.encoded.segments == 1
        spans = best_spans(
            output.start_logits.float(),
            output.end_logits.float(),
            torch.from_numpy(inside).to(output.start_logits.device),
        ).cpu()
        lost = self.losses(output, labels).double().detach()
        # nothing to compare with: no data
        losses = lost.masked_fill(labels[:, 0] == -100, torch.nan).cpu().numpy()
        found = np.empty((len(prepared), 3))
        for row, (one, span) in enumerate(zip(prepared, spans.tolist(), strict=True)):
            said = _text(one, *span)
            golds = one.example.gold if isinstance(one.example.gold, tuple) else ()
            found[row] = (
                losses[row],
                max((exact_match(said, g.text) for g in golds), default=0.0),
                max((word_f1(said, g.text) for g in golds), default=0.0),
            )
        return found


def _text(prepared: Prepared, first: int, last: int) -> str:
    """The characters of the paragraph under some tokens."""
    offsets = prepared.encoded.offsets
    paragraph = prepared.encoded.sequence.pair or ""
    last = min(last, prepared.n_tokens - 1)
    return paragraph[int(offsets[first, 0]) : int(offsets[last, 1])]


def _questions(article: Any, where: str, source: PartSource) -> list[Example]:
    examples = []
    for j, paragraph in enumerate(_get(article, "paragraphs", list, where, source)):
        place = f"{where}.paragraphs[{j}]"
        context = _get(paragraph, "context", str, place, source)
        lost = len(context) - len(context.lstrip())
        for k, qa in enumerate(_get(paragraph, "qas", list, place, source)):
            at = f"{place}.qas[{k}]"
            answers = []
            for answer in _get(qa, "answers", list, at, source):
                text = _get(answer, "text", str, at, source)
                start = _get(answer, "answer_start", int, at, source)
                if context[start : start + len(text)] != text:
                    found = f"the answer {text!r} at character {start} of {at}"
                    raise source.error(found, "an answer that stands there in its paragraph")
                answers.append(Answer(text, start - lost))
            if not answers:
                raise source.error(f"no answers at {at}", "at least one, as in SQuAD v1.1")
            text = Text(
                _get(qa, "id", str, at, source),
                _get(qa, "question", str, at, source).strip(),
                pair=context.strip(),
                source=source.source.name,
                line=1,
            )
            examples.append(Example(text, tuple(answers)))
    return examples


def _get(value: Any, key: str, kind: type, where: str, source: PartSource) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get(key), kind):
        raise source.error(f"no {key!r} at {where}", f"SQuAD v1.1 with {key!r} as {kind.__name__}")
    return value[key]
