"""Train a small BERT from nothing, for a few minutes, and keep ten checkpoints on the way.

For `headscope study emergence --models OUT/ckpt-*/`: how do roles come into being?

    python scripts/train_checkpoints.py FILE… -o OUT [--steps 0,50,…]

FILE is anything headscope reads (CoNLL-U, JSONL, plain text …); only its texts are used. Tokenizer
(WordPiece) and model (masked-LM, 15 %) are trained on them alone. One thread gives the same bits
again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from headscope.corpora import Corpus

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
STEPS = "0,100,300,600,1000,1500,2500,4000,6000,9000"


def train_tokenizer(texts: list[str], size: int) -> PreTrainedTokenizerFast:
    """A lower-case WordPiece tokenizer of the texts."""
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    inner.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=SPECIAL)
    )
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, inner.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=128,
    )


def masked(
    ids: torch.Tensor, mask: int, size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """BERT's masking: of 15 % of the tokens 80 % become [MASK], 10 % another, 10 % stay."""
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & (ids >= len(SPECIAL))
    labels = ids.masked_fill(~chosen, -100)
    dice = torch.rand(ids.shape, generator=generator)
    ids = ids.masked_fill(chosen & (dice < 0.8), mask)
    other = torch.randint(len(SPECIAL), size, ids.shape, generator=generator)
    return torch.where(chosen & (dice >= 0.8) & (dice < 0.9), other, ids), labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--steps", default=STEPS)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=150)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.manual_seed(asked.seed)
    generator = torch.Generator().manual_seed(asked.seed)

    sequences = [s for file in asked.files for s in Corpus(file)]
    texts = [t for s in sequences for t in (s.text, s.pair) if t]
    tokenizer = train_tokenizer(texts, asked.vocabulary)
    rows = [
        ids
        for ids in tokenizer(texts, truncation=True, max_length=asked.length)["input_ids"]
        if len(ids) >= 6
    ]
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=asked.hidden,
            num_hidden_layers=asked.layers,
            num_attention_heads=asked.heads,
            intermediate_size=4 * asked.hidden,
            max_position_embeddings=128,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    keep = sorted({int(step) for step in asked.steps.split(",")})
    optimizer = torch.optim.AdamW(model.parameters(), lr=asked.rate, weight_decay=0.01)
    total, warm = keep[-1], max(1, keep[-1] // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda i: min((i + 1) / warm, max(0.05, 1 - i / (total + 1)))
    )
    history, started, running = [], time.monotonic(), 0.0
    order = torch.randperm(len(rows), generator=generator).tolist()
    at = 0
    for step in range(total + 1):
        if step in keep:
            folder = asked.output / f"ckpt-{step:05d}"
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            seconds = round(time.monotonic() - started, 1)
            history.append({"step": step, "loss": round(running, 4), "seconds": seconds})
            print(f"step {step:>5}  loss {running:.3f} nats  {seconds:.0f} s", flush=True)
        if step == total:
            break
        if at + asked.batch > len(order):
            order, at = torch.randperm(len(rows), generator=generator).tolist(), 0
        chosen = [torch.tensor(rows[i]) for i in order[at : at + asked.batch]]
        at += asked.batch
        ids = torch.nn.utils.rnn.pad_sequence(chosen, True, tokenizer.pad_token_id)
        real = (ids != tokenizer.pad_token_id).long()
        inputs, labels = masked(ids, tokenizer.mask_token_id, len(tokenizer), generator)
        model.train()
        loss = model(input_ids=inputs, attention_mask=real, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        now = float(loss.detach())
        running = 0.95 * running + 0.05 * now if running else now
    n_tokens = sum(map(len, rows))
    told = {"texts": len(rows), "tokens": n_tokens, "vocabulary": len(tokenizer),
            "parameters": model.num_parameters(), "history": history}  # fmt: skip
    (asked.output / "training.json").write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
