from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from headscope.store import ModelRecord, RunRecord
from headscope.store.record import differences


def test_a_record_survives_being_written_and_read(record: RunRecord) -> None:
    strange = record.updated(
        request={
            "settings": {"cap": float("inf"), "taus": (1, np.int64(2)), "at": Path("x")},
            "later_field": {"a": 1},
        },
        timings={"total": np.float32(1.5)},
        notes=["ü \ud83d\ude42 <b>".encode("utf-16", "surrogatepass").decode("utf-16")],
    )
    back = RunRecord.model_validate(json.loads(strange.to_json()))
    assert back.digest() == strange.digest() == back.request_digest
    assert back.updated(request_digest="") == strange
    assert json.loads(strange.to_json())["request"]["later_field"] == {"a": 1}


def test_digest_depends_on_what_determines_results(record: RunRecord) -> None:
    same = [
        record.updated(counts={"n_tokens": 5}, notes=["x"], timings={"s": 1}),
        record.updated(request=record.request.model_copy(update={"engine": {"workers": 8}})),
        record.updated(libraries={}),
    ]
    other = [
        record.updated(model=record.model.model_copy(update={"fingerprint": "m2"})),
        record.updated(corpus=record.corpus.model_copy(update={"fingerprint": "c2"})),
        record.updated(request=record.request.model_copy(update={"seeds": {"mask": 1}})),
        record.updated(request=record.request.model_copy(update={"measures": ()})),
    ]
    assert {r.digest() for r in same} == {record.digest()}
    assert len({record.digest(), *(r.digest() for r in other)}) == 5


def test_differences_name_fields_and_values(record: RunRecord) -> None:
    measures = [
        {"name": "surface", "version": 2, "parameters": {"smooth": 0.0}},
        {"name": "entropy"},
    ]
    new = record.updated(
        request={"measures": measures, "settings": {"batch_size": 16}},
        model={"name": "tiny", "fingerprint": "m2"},
    )
    found = differences(record, new)
    assert 'model.fingerprint: "m1" → "m2"' in found
    assert "request.settings.batch_size: 8 → 16" in found
    assert "request.measures.surface.version: 1 → 2" in found
    assert any(line.startswith("request.measures.entropy.") for line in found)
    assert not any("smooth" in line for line in found)
    assert differences(record, record) == []


def test_records_are_frozen_and_checked(record: RunRecord) -> None:
    with pytest.raises(ValidationError):
        record.status = "complete"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        record.updated(status="half done")
    with pytest.raises(ValidationError):
        record.updated(counts={"n": "many"})
    assert "numpy" in RunRecord(model=ModelRecord(name="x")).libraries
