"""What every embedder promises, and what it is given when it is opened.

A third party writes a factory `(EmbedderOptions) -> Embedder` and names it in the entry-point group
`recollect.embedders`; the built-ins enter the same way (see `registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """Which vectors can be compared with which: only those of equal spaces.

    `fingerprint` changes whenever the same text could give another vector on purpose: other weights,
    precision, window or way of computing. It does not name the processor or the runtime's version,
    whose rounding moves an int8 vector by no more than the quantisation itself does.
    """

    name: str
    dimensions: int
    fingerprint: str


class Embedder(Protocol):
    """Turns text into vectors of one space. Every method may be called from several threads."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space its vectors live in; an implementation may just set an attribute."""
        ...

    def split(self, text: str) -> list[str]:
        """Pieces of `text`, at least one, in order, that cover it and fit the model's window."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, in order, as rows; what exceeds the window is cut off.

        The vector of a text does not depend on the texts beside it. It is never zero and never has
        NaN: a text the model has nothing to say about gets a fixed unit vector (see `vectors`).
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderOptions:
    """What a factory gets: the part of the name after the colon, and the caller's settings."""

    variant: str
    cache_dir: Path
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    timeout_s: float = 30.0
    threads: int | None = None


EmbedderFactory: TypeAlias = Callable[[EmbedderOptions], Embedder]
