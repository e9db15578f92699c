"""Live attention: what is sent is what the model computed, and nothing more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from headscope.errors import UsageError
from headscope.explorer.limits import Limits
from headscope.explorer.live.changes import changes
from headscope.explorer.live.loading import load_with_head
from headscope.explorer.live.maps import shrunk, small_pictures
from headscope.explorer.live.passes import LiveModel
from headscope.explorer.live.reading import described, typed
from headscope.measures.patterns.labelled_maps import as_image
from headscope.models import LoadedModel, Tap, collate, head_set
from headscope.models.edits import Zero
from tests.explorer.served import Served

TEXT, PAIR = "the cat sat on the mat.", "she sees it playing"


def half(served: Served, path: str) -> tuple[Any, dict[str, int]]:
    found = served.ask(path)
    assert found.status == 200, found.text
    told = json.loads(found.headers["x-headscope"])
    shape = (told["last"] - told["first"], told["keys"])
    return np.frombuffer(found.body, "<f2").reshape(shape), told


def tapped(model: LoadedModel, text: str, pair: str = "", edits: tuple[Any, ...] = ()) -> Any:
    """All maps straight from the tap, [layer, head, query, key]."""
    layers = []
    with (
        torch.inference_mode(),
        Tap(
            model.model, observer=lambda view: layers.append(view.pattern[0].numpy()), edits=edits
        ) as tap,
    ):
        tap.forward(collate([typed(model, text, pair)], pad_id=model.pad_id))
    return np.stack(layers)


def test_rows_of_every_head_are_the_taps_in_half_precision(
    served: Served, small_masked: LoadedModel
) -> None:
    told = served.post("/api/live/read", {"text": TEXT, "pair": PAIR}).json
    maps = tapped(small_masked, TEXT, PAIR)
    n = maps.shape[-1]
    assert len(told["source"]["tokens"]) == n
    for layer in range(3):
        for head in range(4):
            path = f"/api/live/passes/{told['key']}/map?head={layer + 1}-{head + 1}"
            found, _ = half(served, path)
            assert np.array_equal(found, maps[layer, head].astype(np.float16))
    part, about = half(served, f"/api/live/passes/{told['key']}/map?head=2-3&first=4&last=7")
    assert about == {"queries": n, "keys": n, "first": 4, "last": 7}
    assert np.array_equal(part, maps[1, 2, 4:7].astype(np.float16))


def test_planted_heads_look_where_they_were_planted(planted_bert: LoadedModel) -> None:
    found = LiveModel(planted_bert).read("the cat sat on the mat")
    maps = found.maps["self"][0]
    n = maps.shape[-1]
    previous = np.eye(n, k=-1)
    previous[0, 0] = 1
    assert np.allclose(maps[1], previous, atol=1e-6)
    assert np.allclose(maps[6], 1 / n, atol=1e-3)  # half precision


def test_tokens_come_with_words_segments_and_their_text(planted_bert: LoadedModel) -> None:
    told = described(typed(planted_bert, "she played, she plays", "it"), planted_bert.tokenizer)
    assert told["tokens"] == [
        "[CLS]", "she", "play", "ed", ",", "she", "play", "s", "[SEP]", "it", "[SEP]",
    ]  # fmt: skip
    assert told["units"] == [0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8]
    assert told["special"] == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    assert told["segments"] == [-1, 0, 0, 0, 0, 0, 0, 0, -1, 1, -1]
    hidden = described(typed(planted_bert, "cat\u202e\u200b dog"), planted_bert.tokenizer)
    assert not any("\u202e" in token or "\u200b" in token for token in hidden["tokens"])


def test_small_pictures_are_the_shrunk_maps(served: Served, small_masked: LoadedModel) -> None:
    text = "the cat sat on the mat and " * 10
    told = served.post("/api/live/read", {"text": text}).json
    found = served.ask(f"/api/live/passes/{told['key']}/pictures?stack=self&layer=2")
    about = json.loads(found.headers["x-headscope"])
    assert about == {"heads": 4, "rows": 32, "columns": 32}
    maps = tapped(small_masked, text)[1]
    for head in range(4):
        pairs = np.frombuffer(found.body, np.uint8)
        cells = np.stack([pairs >> 4, pairs & 15], axis=1).reshape(4, 32, 32)[head]
        expected = 15 * np.sqrt(as_image(maps[head], 32))
        assert np.abs(cells - expected).max() <= 0.51
    assert shrunk(maps[:, :20, :40], 32).sum(axis=-1) == pytest.approx(
        maps[:, :20, :40].sum(axis=-1), abs=1e-4
    )


def test_edits_change_what_they_should_and_what_comes_behind(
    served: Served, small_masked: LoadedModel
) -> None:
    before = served.post("/api/live/read", {"text": TEXT}).json
    edits = [{"edit": "zero", "heads": ["2-1"]}]
    after = served.post("/api/live/read", {"text": TEXT, "edits": edits}).json
    assert after["key"] != before["key"]
    found = served.ask(f"/api/live/passes/{after['key']}/changes?from={before['key']}").json
    plain = tapped(small_masked, TEXT).astype(np.float16).astype(float)
    edited = tapped(small_masked, TEXT, edits=(Zero(head_set("2-1")),))
    edited = edited.astype(np.float16).astype(float)
    for layer in range(3):
        for head in range(4):
            moved = []
            for a, b in zip(plain[layer, head], edited[layer, head], strict=True):
                lost = sum(max(x - y, 0) for x, y in zip(a, b, strict=True))
                gained = sum(max(y - x, 0) for x, y in zip(a, b, strict=True))
                moved.append(max(lost, gained))
            assert found["heads"]["self"][layer][head] == pytest.approx(np.mean(moved), abs=1e-5)
    heads = np.array(found["heads"]["self"])
    assert heads[0].max() == 0
    assert heads[1, 0] == pytest.approx(1.0, abs=1e-3)
    assert heads[1, 1:].max() == 0
    assert heads[2].min() > 0
    assert found["text"] > 0
    assert len(found["tokens"]) == len(before["source"]["tokens"])


def test_predictions_are_those_of_the_models_own_head(
    served: Served, small_masked: LoadedModel
) -> None:
    text = "the [MASK] sat on the [MASK]."
    told = served.post("/api/live/read", {"text": text}).json["prediction"]
    ids = small_masked.tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        shares = small_masked.model(**ids).logits[0].softmax(-1)
    blanks = (ids["input_ids"][0] == small_masked.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    assert [place["place"] for place in told["places"]] == blanks
    for place in told["places"]:
        row = shares[place["place"]]
        assert [share for _, share in place["best"]] == pytest.approx(
            row.topk(5).values.tolist(), abs=1e-5
        )
        assert place["best"][0][0] == small_masked.tokenizer.decode([int(row.argmax())])
    assert served.post("/api/live/read", {"text": "the cat"}).json["prediction"]["places"] == []


@pytest.mark.parametrize(
    ("name", "kind"), [("stories260K-llama", "next"), ("bert-tiny-question-clf", "class")]
)
def test_real_models_predict_with_the_head_they_have(
    real_models: Any, name: str, kind: str
) -> None:
    live = LiveModel(load_with_head(str(real_models / name)))
    found = live.read("Once upon a time there was a little")
    assert found.prediction["kind"] == kind
    best = found.prediction["places"][0]["best"]
    assert best == sorted(best, key=lambda one: -one[1])
    inputs = live.loaded.tokenizer("Once upon a time there was a little", return_tensors="pt")
    with torch.inference_mode():
        logits = live.loaded.model(**inputs).logits[0]
    shares = (logits[-1] if kind == "next" else logits).softmax(-1)
    assert best[0][1] == pytest.approx(float(shares.max()), abs=1e-4)


def test_only_the_latest_texts_are_kept_and_a_lost_one_says_so(small_masked: LoadedModel) -> None:
    live = LiveModel(small_masked, Limits(kept_bytes=60_000))
    keys = [live.read(f"the cat {'sat ' * n}").key for n in range(30, 36)]
    kept = [live.find(key) is not None for key in keys]
    assert kept[-1]
    assert not kept[0]
    assert sum(one.n_bytes for key in keys if (one := live.find(key))) <= 60_000


def test_a_long_text_is_cut_at_what_the_maps_may_weigh(small_masked: LoadedModel) -> None:
    live = LiveModel(small_masked, Limits(pass_bytes=2 * 12 * 100 * 100))
    assert live.max_tokens == 100
    found = live.read("the cat sat on the mat. " * 60)
    assert found.encoded.n_tokens <= 100
    assert found.encoded.n_cut > 0
    assert LiveModel(small_masked).max_tokens == 512


def test_different_texts_are_not_compared(small_masked: LoadedModel) -> None:
    live = LiveModel(small_masked)
    with pytest.raises(UsageError, match="different texts"):
        changes(live.read("the cat"), live.read("the dog"))


def test_bytes_of_a_view_are_far_below_the_json_of_all_maps(
    served: Served, small_masked: LoadedModel
) -> None:
    text = "the cat sat on the mat. " * 18
    told = served.post("/api/live/read", {"text": text}).json
    n = len(told["source"]["tokens"])
    assert n >= 120
    everything = len(json.dumps(tapped(small_masked, text).astype(float).round(4).tolist()))
    lines = len(served.ask(f"/api/live/passes/{told['key']}/map?head=1-1").body)
    picture = len(served.ask(f"/api/live/passes/{told['key']}/pictures?layer=1").body)
    assert lines == 2 * n * n
    assert lines + len(json.dumps(told)) <= everything / 10
    assert 3 * picture <= everything / 10


def test_pictures_of_an_odd_number_of_cells_lose_none(planted_bert: LoadedModel) -> None:
    found = LiveModel(planted_bert).read("the cat sat on the mat.")  # 9 tokens
    content, about = small_pictures(found, "self", 0)
    assert about == {"heads": 8, "rows": 9, "columns": 9}
    pairs = np.frombuffer(content, np.uint8)
    cells = np.stack([pairs >> 4, pairs & 15], axis=1).ravel()[: 8 * 81].reshape(8, 9, 9)
    assert np.array_equal(cells[0], 15 * np.eye(9))
    assert len(content) == 4 * 81


@pytest.mark.parametrize(
    "asked",
    [
        {"text": ""},
        {"text": "\u200b\u200b"},
        {"text": "cat \ud800"},
        {"text": 3},
        {"text": "a", "pair": ["b"]},
        {"text": "a", "edits": "zero"},
        {"text": "a", "edits": [3]},
        {"text": "a", "edits": [{"edit": "explode", "heads": ["1-1"]}]},
        {"text": "a", "edits": [{"edit": "zero", "heads": ["9-9"]}]},
        {"text": "a", "edits": [{"edit": "zero", "heads": "1-1"}]},
        {"text": "a", "edits": [{"edit": "zero", "heads": ["__class__"]}]},
    ],
)
def test_nonsense_is_refused_in_words(served: Served, asked: Any) -> None:
    found = served.post("/api/live/read", asked)
    assert found.status == 422
    assert found.json["error"]
