"""Planted heads: real transformers models whose weights are set by hand.

`planted_model()` is an ordinary `transformers.BertModel` of 2 layers × 8 heads, both layers alike:

| head | a token attends to                                                                     |
|------|----------------------------------------------------------------------------------------|
| 0    | itself                                                                                 |
| 1    | the previous token; the first token to itself                                          |
| 2    | the next token; the last real token to itself                                          |
| 3    | [CLS]                                                                                  |
| 4    | every [SEP], equally; everything equally where there is none                           |
| 5    | every token of its own token type, equally, itself included: [CLS], A and the first    |
|      | [SEP] are type 0, B and the last [SEP] type 1, so delimiters count as in their segment |
| 6    | every token, equally                                                                   |
| 7    | every other token with the same id, equally; itself where there is none                |

How: an embedding is three one-hot blocks (token, position, token type), each entry repeated with
the opposite sign in a mirror block. So every vector has mean 0 and the same variance, scaled to
1, and LayerNorm (weight 1, bias 0) leaves it alone; output projections and feed-forward layers
are 0, so every layer sees the embeddings. Queries and keys pick entries out of the blocks. What
a head looks for has logit 0 and everything else -30 or less (or +30 where there is one target),
so the weights are those of the table up to e^-30.

`z` tells on a head: its first 40 entries are the weights summed by token id, its last 40 the
weights by position, `z[query, 40 + key] == pattern[query, key]`.

`planted_causal_model()` is a `transformers.GPT2Model` of 2 layers × 4 heads for texts that begin
with <bos> (which occurs nowhere else):

| head | layer 0                                     | layer 1                                   |
|------|---------------------------------------------|-------------------------------------------|
| 0    | the first token                             | the same                                  |
| 1    | the previous token; the first to itself     | the same                                  |
| 2    | earlier tokens with the same id, equally;   | the same                                  |
|      | itself where there is none                  |                                           |
| 3    | every token it may see, equally             | induction: the tokens that follow a token |
|      |                                             | with its id, equally; the first where     |
|      |                                             | there is none                             |

Induction reads what layer 0's previous-token head wrote, as in a trained model.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    PreTrainedTokenizerFast,
)

from headscope.models import LoadedModel, load
from headscope.types import Encoded, Sequence, TokenKind, Word

VOCABULARY = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "?",
    "the", "a", "cat", "dog", "bird", "mouse", "sat", "saw", "ran", "ate", "sees", "on", "under",
    "mat", "house", "tree", "big", "small", "red", "old", "she", "he", "it", "her", "his", "and",
    "not", "who", "play", "##ing", "##ed", "##s",
)  # fmt: skip
CAUSAL_VOCABULARY = ("<pad>", "<unk>", "<bos>", *VOCABULARY[5:36])

HEADS = ("self", "previous", "next", "cls", "sep", "segment", "everywhere", "same_word")
N_POSITIONS = 40
PAD, CLS, SEP = VOCABULARY.index("[PAD]"), VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")

_N_VOCABULARY = 40
_D_HEAD = _N_VOCABULARY + N_POSITIONS
_STEP = 30.0  # the logit between what a head looks for and what it falls back to


# --- the weights, in terms of features ------------------------------------------------------


class _Features:
    """Blocks of one-hot features in the hidden vector, each with a mirror of opposite sign."""

    def __init__(self, d_hidden: int, d_head: int, n_blocks: int, **widths: int) -> None:
        self.d_hidden, self.d_head = d_hidden, d_head
        # n_blocks blocks and their mirrors are non-zero: this height makes the variance 1
        self.height = math.sqrt(d_hidden / (2 * n_blocks))
        self.start: dict[str, int] = {}
        self.width = widths
        used = 0
        for name, width in widths.items():
            self.start[name] = used
            used += width
        if 2 * used > d_hidden:
            raise ValueError(f"{used} features and their mirrors do not fit into {d_hidden}")

    def table(self, name: str, n_rows: int) -> Tensor:
        """Row i is the one-hot feature i of a block: an embedding table."""
        rows = torch.zeros(n_rows, self.d_hidden)
        for i in range(min(n_rows, self.width[name])):
            rows[i, self.start[name] + i] = self.height
            rows[i, self.d_hidden // 2 + self.start[name] + i] = -self.height
        return rows

    def read(self, name: str, mixing: Tensor) -> Tensor:
        """A projection [len(mixing), d_hidden] that turns a feature i into `mixing[:, i]`.

        Reading feature minus mirror, halved, is blind to whatever rounding adds to all entries.
        """
        weight = torch.zeros(len(mixing), self.d_hidden)
        n = mixing.shape[1]
        weight[:, self.start[name] : self.start[name] + n] = mixing / (2 * self.height)
        mirror = self.d_hidden // 2 + self.start[name]
        weight[:, mirror : mirror + n] = -mixing / (2 * self.height)
        return weight


class _HeadWeights:
    """Query and key projections of one head, filled dimension by dimension."""

    def __init__(self, features: _Features) -> None:
        self.features = features
        self.query = torch.zeros(features.d_head, features.d_hidden)
        self.query_bias = torch.zeros(features.d_head)
        self.key = torch.zeros(features.d_head, features.d_hidden)
        self._used = 0

    def add(
        self, logit: float, key: tuple[str, Tensor], query: tuple[str, Tensor] | None = None
    ) -> _HeadWeights:
        """Add `logit` × ⟨query feature, key feature⟩; without a query for every query alike."""
        n = len(key[1])
        rows = slice(self._used, self._used + n)
        self._used += n
        if query is None:
            self.query_bias[rows] = 1.0
        else:
            self.query[rows] = self.features.read(*query)
        self.key[rows] = self.features.read(*key) * logit * math.sqrt(self.features.d_head)
        return self


def _same(n: int) -> Tensor:
    return torch.eye(n)


def _other(n: int) -> Tensor:
    """Feature i becomes everything but i: the product with a one-hot is 0 exactly on a match."""
    return 1.0 - torch.eye(n)


def _only(i: int, n: int) -> Tensor:
    return torch.eye(n)[i : i + 1]


def _all_but(i: int, n: int) -> Tensor:
    return 1.0 - torch.eye(n)[i : i + 1]


def _shift(n: int, by: int) -> Tensor:
    """Position i becomes i + by, nothing where there is no such position."""
    return torch.diag(torch.ones(n - abs(by)), -by)


# --- the planted BERT -----------------------------------------------------------------------


def _bert_heads(features: _Features) -> list[_HeadWeights]:
    n, p = _N_VOCABULARY, N_POSITIONS
    token, position, kind = "token", "position", "type"

    def head() -> _HeadWeights:
        return _HeadWeights(features)

    previous = _shift(p, -1)
    previous[0, 0] = 1.0
    next_or_self = 2 * _shift(p, 1) + torch.eye(p)
    return [
        head().add(_STEP, (position, _same(p)), (position, _same(p))),
        head().add(_STEP, (position, _same(p)), (position, previous)),
        head().add(_STEP, (position, _same(p)), (position, next_or_self)),
        head().add(_STEP, (token, _only(CLS, n))),
        head().add(-_STEP, (token, _all_but(SEP, n))),
        head().add(-_STEP, (kind, _other(2)), (kind, _same(2))),
        head(),
        head()
        .add(-2 * _STEP, (token, _other(n)), (token, _same(n)))
        .add(-_STEP, (position, _same(p)), (position, _same(p))),
    ]


def planted_model(n_layers: int = 2) -> BertModel:
    """The planted BERT, in evaluation mode."""
    n_heads = len(HEADS)
    config = BertConfig(
        vocab_size=_N_VOCABULARY,
        hidden_size=n_heads * _D_HEAD,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        intermediate_size=4,
        max_position_embeddings=N_POSITIONS,
        pad_token_id=PAD,
    )
    features = _Features(
        config.hidden_size, _D_HEAD, 3, token=_N_VOCABULARY, position=N_POSITIONS, type=2
    )
    heads = _bert_heads(features)
    value = features.read("token", torch.eye(_D_HEAD, _N_VOCABULARY))
    value += features.read("position", torch.eye(_D_HEAD)[:, _N_VOCABULARY:])
    model = BertModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        model.embeddings.word_embeddings.weight.copy_(features.table("token", _N_VOCABULARY))
        model.embeddings.position_embeddings.weight.copy_(features.table("position", N_POSITIONS))
        model.embeddings.token_type_embeddings.weight.copy_(features.table("type", 2))
        for layer in model.encoder.layer:
            attention = layer.attention.self
            attention.query.weight.copy_(torch.cat([h.query for h in heads]))
            attention.query.bias.copy_(torch.cat([h.query_bias for h in heads]))
            attention.key.weight.copy_(torch.cat([h.key for h in heads]))
            attention.value.weight.copy_(value.repeat(n_heads, 1))
    return model


def planted_tokenizer() -> PreTrainedTokenizerFast:
    """A WordPiece tokenizer of 40 tokens: `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`."""
    ids = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        model_max_length=N_POSITIONS,
    )


def planted(n_layers: int = 2) -> LoadedModel:
    """The planted BERT with its tokenizer, as `load` gives it."""
    return load(planted_model(n_layers), planted_tokenizer())


def expected_pattern(encoded: Encoded) -> NDArray[np.float64]:
    """`pattern[head, query, key]` of every layer of the planted BERT, from the table above."""
    ids = encoded.input_ids
    types = encoded.model_inputs["token_type_ids"]
    n = len(ids)
    pattern = np.zeros((len(HEADS), n, n))
    for query in range(n):
        targets = {
            "self": [query],
            "previous": [max(query - 1, 0)],
            "next": [min(query + 1, n - 1)],
            "cls": [key for key in range(n) if ids[key] == CLS],
            "sep": [key for key in range(n) if ids[key] == SEP] or list(range(n)),
            "segment": [key for key in range(n) if types[key] == types[query]],
            "everywhere": list(range(n)),
            "same_word": [key for key in range(n) if ids[key] == ids[query] and key != query]
            or [query],
        }
        for head, name in enumerate(HEADS):
            for key in targets[name]:
                pattern[head, query, key] = 1 / len(targets[name])
    return pattern


# --- encoded texts --------------------------------------------------------------------------


def words_of(text: str, segment: int = 0) -> tuple[Word, ...]:
    """Runs of letters, and single marks."""
    return tuple(Word(segment, m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text))


def encode_planted(
    text: str, pair: str | None = None, *, name: str = "planted", **annotations: Any
) -> Encoded:
    """A text, or two, as the planted tokenizer sees it; annotations go into its `Sequence`."""
    words = words_of(text) + (words_of(pair, 1) if pair is not None else ())
    sequence = Sequence(name, text, pair, words=words, **annotations)
    encoding = planted_tokenizer()(text, pair, return_offsets_mapping=True)
    return _encoded(
        sequence, encoding, {"token_type_ids"}, {CLS: TokenKind.CLS, SEP: TokenKind.SEP}
    )


def _encoded(
    sequence: Sequence, encoding: Any, inputs: set[str], special: dict[int, TokenKind]
) -> Encoded:
    ids = encoding["input_ids"]
    offsets = encoding["offset_mapping"]
    segments = [-1 if s is None else s for s in encoding.sequence_ids()]
    marks = {".": TokenKind.PERIOD, ",": TokenKind.COMMA}
    kinds, words = [], []
    for token, segment, (start, end) in zip(ids, segments, offsets, strict=True):
        text = sequence.segment_text(segment)[start:end] if segment >= 0 else ""
        kinds.append(special.get(token, marks.get(text, TokenKind.OTHER)))
        inside = [
            i
            for i, word in enumerate(sequence.words or ())
            if word.segment == segment and word.start <= start and end <= word.end
        ]
        words.append(inside[0] if inside else -1)
    return Encoded(
        sequence=sequence,
        input_ids=np.array(ids, dtype=np.int64),
        kinds=np.array(kinds, dtype=np.int8),
        segments=np.array(segments, dtype=np.int8),
        words=np.array(words, dtype=np.int32),
        offsets=np.array(offsets, dtype=np.int32),
        model_inputs={name: np.array(encoding[name], dtype=np.int64) for name in inputs},
    )


# --- the planted GPT-2 ----------------------------------------------------------------------

CAUSAL_HEADS = (
    ("first", "previous", "same_word", "everywhere"),
    ("first", "previous", "same_word", "induction"),
)


def _causal_heads(features: _Features, layer: int) -> list[_HeadWeights]:
    n, p = len(CAUSAL_VOCABULARY), N_POSITIONS
    token, position = "token", "position"
    previous = _shift(p, -1)
    previous[0, 0] = 1.0
    heads = [_HeadWeights(features) for _ in range(4)]
    heads[0].add(_STEP, (position, _only(0, p)))
    heads[1].add(_STEP, (position, _same(p)), (position, previous))
    heads[2].add(-2 * _STEP, (token, _other(n)), (token, _same(n)))
    heads[2].add(-_STEP, (position, _same(p)), (position, _same(p)))
    if layer == 1:
        heads[3].add(-2 * _STEP, ("before", _other(n)), (token, _same(n)))
        heads[3].add(_STEP, (position, _only(0, p)))
    return heads


def planted_causal_model() -> GPT2Model:
    """The planted GPT-2, in evaluation mode."""
    n = len(CAUSAL_VOCABULARY)
    config = GPT2Config(
        vocab_size=n,
        n_positions=N_POSITIONS,
        n_embd=4 * _D_HEAD,
        n_layer=2,
        n_head=4,
        n_inner=4,
        bos_token_id=2,
        eos_token_id=2,
        pad_token_id=0,
    )
    features = _Features(config.n_embd, _D_HEAD, 2, token=n, position=N_POSITIONS, before=n)
    value = features.read("token", torch.eye(_D_HEAD, n))
    value += features.read("position", torch.eye(_D_HEAD)[:, _N_VOCABULARY:])
    model = GPT2Model(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_norm = ".ln_" in f".{name}" and name.endswith("weight")
            parameter.fill_(1.0 if is_norm else 0.0)
        # a third pair of entries from layer 1 on: the variance grows from 1 to 3/2
        model.h[1].ln_1.weight.fill_(math.sqrt(3 / 2))
        model.wte.weight.copy_(features.table("token", n))
        model.wpe.weight.copy_(features.table("position", N_POSITIONS))
        for layer, block in enumerate(model.h):
            heads = _causal_heads(features, layer)
            query = torch.cat([h.query for h in heads])
            key = torch.cat([h.key for h in heads])
            # GPT-2 keeps its projections as [input, output], query, key and value side by side
            block.attn.c_attn.weight.copy_(torch.cat([query, key, value.repeat(4, 1)]).T)
            block.attn.c_attn.bias[: config.n_embd] = torch.cat([h.query_bias for h in heads])
        # the previous-token head of layer 0 writes the token it sees into the block `before`
        sees = slice(_D_HEAD, _D_HEAD + n)
        model.h[0].attn.c_proj.weight[sees] = features.table("before", n)
    return model


def planted_causal_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer of whole words that puts <bos> in front."""
    ids = {token: i for i, token in enumerate(CAUSAL_VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair=None, special_tokens=[("<bos>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<bos>",
        eos_token="<bos>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=N_POSITIONS,
    )


def planted_causal() -> LoadedModel:
    """The planted GPT-2 with its tokenizer, as `load` gives it."""
    return load(planted_causal_model(), planted_causal_tokenizer())


def encode_planted_causal(text: str, *, name: str = "planted", **annotations: Any) -> Encoded:
    """A text as the planted causal tokenizer sees it."""
    sequence = Sequence(name, text, words=words_of(text), **annotations)
    encoding = planted_causal_tokenizer()(text, return_offsets_mapping=True)
    return _encoded(sequence, encoding, set(), {})


def expected_causal_pattern(encoded: Encoded, layer: int) -> NDArray[np.float64]:
    """`pattern[head, query, key]` of a layer of the planted GPT-2, from the table above."""
    ids = encoded.input_ids
    n = len(ids)
    names = CAUSAL_HEADS[layer]
    pattern = np.zeros((len(names), n, n))
    for query in range(n):
        targets = {
            "first": [0],
            "previous": [max(query - 1, 0)],
            "same_word": [key for key in range(query) if ids[key] == ids[query]] or [query],
            "everywhere": list(range(query + 1)),
            "induction": [key for key in range(1, query + 1) if ids[key - 1] == ids[query]] or [0],
        }
        for head, name in enumerate(names):
            for key in targets[name]:
                pattern[head, query, key] = 1 / len(targets[name])
    return pattern
