"""Every table a passport can be made from, made up but plausible, for any size of model."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

Columns = dict[str, list[Any]]

ROLES = ("local", "prev_local", "sep", "syntactic", "obj", "block")
RELATIONS = ("all", "obj", "nsubj", "det", "amod", "case", "conj", "mark")


def columns(rows: list[dict[str, Any]]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]}


def every_table(
    n_layers: int, n_heads: int, *, seed: int = 0, words: str = "the cat saw a bird"
) -> dict[str, Columns]:
    """All tables by name; `words` is the sentence of every example."""
    rng = np.random.default_rng(seed)
    places = [{"layer": i, "head": j} for i in range(n_layers) for j in range(n_heads)]

    def each(label: str, names: tuple[str, ...], value: str, n: int = 66) -> Columns:
        rows = []
        for place in places:
            for name in names:
                x = float(rng.random())
                ends = {"ci_low": x - 0.02, "ci_high": x + 0.02}
                rows.append({**place, label: name, value: x, **ends, "n": n})
        return columns(rows)

    def one(value: str) -> Columns:
        return columns([{**place, value: float(rng.random()), "n": 66} for place in places])

    windows = ("cls", "sep", "comma", "period", "self", *(f"w{i:02}" for i in range(16)))
    kinds = ("noun", "verb", "pronoun", "subject", "object", "negation", "cls", "sep")
    roles = []
    for place in places:
        for role in ROLES:
            mean = float(rng.gamma(2.0, 1.2))
            p = float(rng.random()) if mean < 3 else 0.0001
            roles.append(
                {
                    **place, "role": role, "mean": mean, "ci_low": mean - 0.2,
                    "ci_high": mean + 0.2, "z": 1.0, "p_value": p, "q_value": min(1.0, 2 * p),
                    "assigned": p < 0.01, "tau": 3.0,
                }
            )  # fmt: skip
    parser = each("relation", RELATIONS, "accuracy", 120)
    parser["direction"] = ["dependent_to_head"] * len(parser["n"])
    pairs = [
        {
            "layer_a": a["layer"], "head_a": a["head"], "layer_b": b["layer"], "head_b": b["head"],
            "js_nats": float(rng.random() * np.log(2)),
        }
        for a, b in combinations(places, 2)
    ]  # fmt: skip
    return {
        "surface": each("target", ("self", "prev", "next", "cls", "sep", "punct", "other"), "mean"),
        "entropy": each("rows", ("all", "cls"), "mean_nats"),
        "gradient": each("target", ("cls", "sep", "punct", "other"), "mean_abs"),
        "parser": parser,
        "parser_baseline": {
            "relation": list(RELATIONS), "offset": [1] * len(RELATIONS),
            "accuracy": [0.4] * len(RELATIONS),
            "ci_low": [0.3] * len(RELATIONS),
            "ci_high": [0.5] * len(RELATIONS), "n": [120] * len(RELATIONS),
        },
        "parser_examples": columns(
            [
                {
                    **place, "relation": relation, "direction": "dependent_to_head",
                    "correct": correct, "sequence": "s1", "sentence": words, "dependent": "bird",
                    "gold": "saw", "predicted": "saw" if correct else "cat",
                }
                for place in places
                for relation in ("obj", "det")
                for correct in (True, False)
            ]
        ),
        "coreference": each("mention", ("all", "pronoun", "proper", "nominal"), "accuracy"),
        "coreference_baseline": {
            "system": ["nearest"], "mention": ["all"], "accuracy": [0.5],
            "ci_low": [0.4],
            "ci_high": [0.6],
            "n": [147],
        },
        "divergence": columns(pairs),
        "roles": columns(roles),
        "distance": each("feature", windows, "mean"),
        "clusters": columns(
            [
                {
                    **place, "cluster": i % 4, "name": None if i % 4 == 2 else "dense_vertical",
                    "stable": i % 3 > 0, "silhouette": 0.4,
                }
                for i, place in enumerate(places)
            ]
        ),
        "patterns": each("pattern", ("vertical", "diagonal", "block", "heterogeneous"), "share"),
        "features": each("feature", kinds, "mean"),
        "links": each("link", ("verb_to_subject", "subject_to_verb"), "mean"),
        "cls_row": each("target", kinds, "mean"),
        "frames": one("mean_max"),
        "similarity": one("cosine"),
        "importance": one("score"),
        "probe": columns(
            [
                {
                    **place, "task": task, "representation": "head", "n_heads": 1,
                    "metric": "accuracy", "validation": 0.5, "test": float(rng.random()),
                }
                for place in places
                for task in ("tense", "depth")
            ]
        ),
        "ablation": columns(
            [
                {
                    **place, "edit": "uniform", "group": None, "metric": "accuracy",
                    "baseline": 0.9, "value": 0.8, "delta": -0.1, "ci_low": -0.12,
                    "ci_high": -0.08, "n": 500,
                }
                for place in places
            ]
        ),
    }  # fmt: skip
