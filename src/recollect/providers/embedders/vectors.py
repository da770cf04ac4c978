"""The last step of every embedder: raw vectors become unit vectors that are safe to store.

A zero vector has no direction: pgvector's cosine distance to it is NaN, and NaN breaks every order.
So a text the model has nothing to say about (empty, or only unknown words) gets `blank_vector`, one
fixed direction. Blank texts then equal each other and are nearly at right angles to all others.
NaN or infinity out of a model is a fault, not a text: it raises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError

# Real models give norms around 1 before scaling; below this only rounding noise is left.
SMALLEST_NORM = 1e-9


def blank_vector(dimensions: int) -> NDArray[np.float32]:
    """The fixed unit vector of a text without meaning."""
    # Alternating signs: models favour some dimensions and have a mean that is not zero, so a single
    # axis or a constant vector would be near real texts. This one is near none.
    signs = np.where(np.arange(dimensions) % 2 == 0, 1.0, -1.0)
    vector: NDArray[np.float32] = (signs / np.sqrt(dimensions)).astype(np.float32)
    return vector


def unit_rows(raw: NDArray[np.floating], *, name: str) -> NDArray[np.float32]:
    """The rows of `raw` with length 1; zero rows become `blank_vector`; NaN raises."""
    rows = np.asarray(raw, dtype=np.float64)  # squares of large float32 values would overflow
    if not np.isfinite(rows).all():
        raise EmbedderFailedError(
            f"the embedder {name!r} gave a vector with NaN or infinity; "
            "nothing was stored: try again, or choose another embedder"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    blank = norms[:, 0] < SMALLEST_NORM
    norms[blank] = 1.0
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    unit[blank] = blank_vector(rows.shape[1])
    return unit
