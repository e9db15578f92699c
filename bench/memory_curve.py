"""`python -m bench.memory_curve`: peak memory of `analyze` from 100 to 10,000 sequences.

A tiny model and short texts, so that the curve takes minutes: what grows with a corpus would grow
here as well.
Beside it what storing all maps would take, for this model and for BERT-base.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import altair as alt

from bench.lines.memory import peak_mebibytes
from bench.picture import save
from bench.soak.subject import write_model
from headscope.figures.theme import OKABE_ITO
from headscope.models import load

N_LAYERS, N_HEADS, N_TOKENS = 2, 4, 32
SIZES = (100, 300, 1000, 3000, 10_000)


def stored_mebibytes(n_sequences: int, n_heads: int, n_tokens: int = 128) -> float:
    """All maps of a corpus in float32.

    >>> round(stored_mebibytes(1000, 144) * 2**20 / 1e9, 1)      # BERT-base, in gigabytes
    9.4
    """
    return n_sequences * n_heads * n_tokens**2 * 4 / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, n_layers=N_LAYERS, n_heads=N_HEADS)
        vocabulary = load(folder).tokenizer.get_vocab()
        words = sorted(word for word in vocabulary if word.isalpha() and word.isascii())
        for n in asked.sizes:
            peak = peak_mebibytes(folder, words, n, N_TOKENS - 2)
            mine = stored_mebibytes(n, N_LAYERS * N_HEADS, N_TOKENS)
            base = stored_mebibytes(n, 144)
            print(
                f"{n:6,} sequences: peak {peak:,.0f} MiB; storing all maps would take "
                f"{mine:,.0f} MiB, of BERT-base {base / 1024:,.1f} GiB",
                flush=True,
            )
            for what, value in (
                ("headscope analyze", peak),
                (f"all maps stored, this model, {N_TOKENS} tokens", mine),
                ("all maps stored, BERT-base, 128 tokens", base),
            ):
                rows.append({"n": n, "what": what, "mebibytes": value})
    peaks = [row["mebibytes"] for row in rows if row["what"] == "headscope analyze"]
    growth = peaks[-1] / peaks[0]
    print(f"{asked.sizes[-1]:,} sequences / {asked.sizes[0]:,}: {growth:.3f} times the memory")
    if asked.picture is not None:
        draw(rows, asked.picture)
    return int(growth > 1.1)


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Both scales logarithmic."""
    colours = [OKABE_ITO["blue"], OKABE_ITO["orange"], OKABE_ITO["vermillion"]]
    names = list(dict.fromkeys(str(row["what"]) for row in rows))
    sizes = sorted({int(str(row["n"])) for row in rows})
    chart = (
        alt.Chart(
            alt.Data(values=rows),
            width=420,
            height=260,
            title=alt.TitleParams(
                "Memory stays flat: a hundred times the corpus, the same peak",
                subtitle="peak of the whole process, a tiny model, and what stored maps would take",
            ),
        )
        .mark_line(point=True, strokeWidth=2)
        .encode(
            alt.X(
                "n:Q", title="sequences", scale=alt.Scale(type="log"), axis=alt.Axis(values=sizes)
            ),
            alt.Y(
                "mebibytes:Q",
                title="MiB",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~s", values=[1, 10, 100, 1000, 10_000, 100_000]),
            ),
            alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=names, range=colours),
                legend=alt.Legend(orient="bottom", columns=1, labelLimit=0),
            ),
        )
    )
    save(chart, path)


if __name__ == "__main__":
    sys.exit(main())
