"""Embedders: text in, unit vectors out.

`open_embedder("auto")` gives the best one installed. What an embedder promises is in `contract`,
which ones there are and how a third party adds one is in `registry`, each built-in has a module of
its own: `arctic`, `minilm`, `wordllama`, `e5`, `openai`, `fastembed`. Importing this package loads no model
and no numerical library.
"""

from recollect.providers.embedders.contract import (
    Embedder,
    EmbedderFactory,
    EmbedderOptions,
    EmbeddingSpace,
)
from recollect.providers.embedders.registry import (
    LOCAL,
    EmbedderInfo,
    available_embedders,
    best_installed,
    better_than,
    open_embedder,
)

__all__ = [
    "LOCAL",
    "Embedder",
    "EmbedderFactory",
    "EmbedderInfo",
    "EmbedderOptions",
    "EmbeddingSpace",
    "available_embedders",
    "best_installed",
    "better_than",
    "open_embedder",
]
