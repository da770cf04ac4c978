"""Make the shipped judge of trained weights: an int8 graph, the word vectors in int8, and the vocabulary.

    python training/export.py judge.pt[,earlier.pt...] MINILM_DIR src/recollect/providers/judge/weights

Of several, the mean of their weights is taken: later stages of one training, which is better than each. Needs torch and
onnx. Prints the SHA-256 of each file, for `recollect.providers.judge.model`.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import torch

from recollect.providers.encoder_graph import judge_graph

_NAMES = {
    "mix": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "norm2": "output.LayerNorm",
}


def main(weights: list[Path], minilm: Path, folder: Path) -> None:
    """Write the files of the judge into `folder`."""
    stages = [torch.load(path) for path in weights]
    own = {name: (sum(stage[name] for stage in stages) / len(stages)).numpy() for name in stages[0]}
    tensors = {
        "embeddings.LayerNorm.weight": own["norm_scale"],
        "embeddings.LayerNorm.bias": own["norm_shift"],
    }
    for name, array in own.items():
        if name.startswith("head."):
            tensors[name] = array
        if name.startswith("layers."):
            _, layer, part, kind = name.split(".")
            prefix = f"encoder.layer.{layer}."
            if part == "qkv":
                for piece, title in zip(np.split(array, 3), ("query", "key", "value"), strict=True):
                    tensors[f"{prefix}attention.self.{title}.{kind}"] = piece
            else:
                tensors[f"{prefix}{_NAMES[part]}.{kind}"] = array
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "judge.onnx").write_bytes(judge_graph(tensors))
    scale = np.abs(own["words"]).max(axis=1) / 127
    words = np.rint(own["words"] / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
    places = own["positions"][:256].astype(np.float16)
    np.savez(
        folder / "words.npz",
        words=words,
        scale=scale.astype(np.float16),
        positions=places,
        types=own["types"],
    )
    (folder / "tokenizer.json").write_bytes((minilm / "tokenizer.json").read_bytes())
    for name in ("judge.onnx", "words.npz", "tokenizer.json"):
        content = (folder / name).read_bytes()
        print(f"{name} {len(content):,} bytes {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1].split(",")], Path(sys.argv[2]), Path(sys.argv[3]))
