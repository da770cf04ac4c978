"""The judge's network: a BERT encoder of six layers over a question and a memory, with a head for its verdict.

It starts from all-MiniLM-L6-v2. Word, position and type embeddings stay as they are.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

WIDTH, HEADS, LAYERS = 384, 12, 6


class Layer(nn.Module):
    """One encoder layer, as BERT has it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor, drop: float) -> Tensor:
        """The next states of all tokens."""
        count, length, _ = x.shape
        q, k, v = self.qkv(x).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        read = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        read = read.transpose(1, 2).reshape(count, length, WIDTH)
        x = self.norm1(x + functional.dropout(self.mix(read), drop, self.training))
        wide = functional.gelu(self.wide(x))
        return self.norm2(x + functional.dropout(self.narrow(wide), drop, self.training))


class Judge(nn.Module):
    """How likely a memory answers a question, as a logit."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
        self.register_buffer("words", torch.zeros(30522, WIDTH))
        self.register_buffer("positions", torch.zeros(512, WIDTH))
        self.register_buffer("types", torch.zeros(2, WIDTH))
        self.register_buffer("norm_scale", torch.ones(WIDTH))
        self.register_buffer("norm_shift", torch.zeros(WIDTH))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor, drop: float = 0.1) -> Tensor:
        """A logit per pair."""
        x = self.words[ids] + self.positions[: ids.shape[1]] + self.types[types]
        x = functional.layer_norm(x, (WIDTH,), self.norm_scale, self.norm_shift, 1e-12)
        keys = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, keys, drop)
        return self.head(x[:, 0])[:, 0]


def from_minilm(path: Path) -> Judge:
    """A judge that knows English and nothing about answers yet, from the weights of all-MiniLM-L6-v2."""
    tensors = read_safetensors(path)
    judge = Judge()
    own = judge.state_dict()
    embeddings = "embeddings."
    own["words"] = tensors[embeddings + "word_embeddings.weight"]
    own["positions"] = tensors[embeddings + "position_embeddings.weight"]
    own["types"] = tensors[embeddings + "token_type_embeddings.weight"]
    own["norm_scale"] = tensors[embeddings + "LayerNorm.weight"]
    own["norm_shift"] = tensors[embeddings + "LayerNorm.bias"]
    names = {
        "mix": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "wide": "intermediate.dense",
        "narrow": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for index in range(LAYERS):
        source, target = f"encoder.layer.{index}.", f"layers.{index}."
        for part in ("weight", "bias"):
            own[f"{target}qkv.{part}"] = torch.cat(
                [tensors[f"{source}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            )
            for short, long in names.items():
                own[f"{target}{short}.{part}"] = tensors[f"{source}{long}.{part}"]
    judge.load_state_dict(own)
    nn.init.normal_(judge.head[2].weight, std=0.5 / math.sqrt(WIDTH))
    return judge


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name."""
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    header.pop("__metadata__", None)
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    found = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        numbers = np.frombuffer(raw[end + first : end + last], dtype=kinds[entry["dtype"]])
        found[name] = torch.from_numpy(numbers.reshape(entry["shape"]).copy())
    return found
