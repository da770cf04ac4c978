"""Weights to train on, from the shipped graph: what `train.py --init` takes.

    python training/restore.py MINILM_DIR judge.pt

Exact but for the rounding to int8, which training moves away from at once. Needs torch and onnx.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from network import LAYERS, from_minilm
from onnx import numpy_helper

from recollect.providers.judge.model import WEIGHTS

Array = np.ndarray


def main(minilm: Path, out: Path) -> None:
    """Read the graph in the order in which `encoder_graph.judge_graph` writes it."""
    judge = from_minilm(minilm / "model.safetensors")
    own = judge.state_dict()
    parts = _parts(onnx.load(WEIGHTS / "judge.onnx").graph)

    def take(*names: str) -> None:
        for name in names:
            own[name] = torch.from_numpy(next(parts).astype(np.float32))

    take("norm_scale", "norm_shift")
    for layer in range(LAYERS):
        prefix = f"layers.{layer}."
        # The last layer asks for the first token alone, so its query stands apart from key and value.
        products = [next(parts) for _ in range(2 if layer == LAYERS - 1 else 1)]
        own[f"{prefix}qkv.weight"] = torch.from_numpy(np.concatenate(products))
        take(f"{prefix}qkv.bias")
        take(*(f"{prefix}{part}" for part in ("mix.weight", "mix.bias", "norm1.weight", "norm1.bias")))
        take(*(f"{prefix}{part}" for part in ("wide.weight", "wide.bias", "narrow.weight", "narrow.bias")))
        take(f"{prefix}norm2.weight", f"{prefix}norm2.bias")
    take("head.0.weight", "head.0.bias", "head.2.weight", "head.2.bias")
    judge.load_state_dict(own)
    torch.save(judge.state_dict(), out)


def _parts(graph: onnx.GraphProto) -> Iterator[Array]:
    """The weights and biases of a graph, in order; products as they were before rounding, nearly."""
    constants = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}
    for node in graph.node:
        match node.op_type:
            case "MatMulIntegerToFloat":
                yield (constants[node.input[1]].astype(np.float32) * constants[node.input[3]]).T
            case "MultiHeadAttention":
                yield constants[node.input[3]]
            case "LayerNormalization" | "Gemm":
                yield from (constants[name] for name in node.input[1:3])
            case "BiasGelu" | "Add" if node.input[1] in constants:
                yield constants[node.input[1]]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
