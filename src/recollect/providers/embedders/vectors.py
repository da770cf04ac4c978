"""Around every embedder: a long text cut into pieces that fit, raw vectors made unit vectors that are safe to store.

A zero vector has no direction: pgvector's cosine distance to it is NaN, and NaN breaks every order.
So a text the model has nothing to say about (empty, or only unknown words) gets `blank_vector`, one
fixed direction. Blank texts then equal each other and are nearly at right angles to all others.
NaN or infinity out of a model is a fault, not a text: it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError
from recollect.providers.runtime import encode

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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


Span = tuple[int, int]
OVERLAP_TOKENS = 32  # about two sentences
# How far back from the window's end a better place to cut is looked for: about two lines, and never so
# far that with an overlap of up to a quarter of the window the next piece would bring nothing new.
LOOK_BACK = 8  # an eighth of the window


def spans_by_tokens(
    text: str, token_spans: Callable[[str], Sequence[Span]], *, window: int, overlap: int
) -> list[Span]:
    """Spans of `text` of at most `window` tokens each, neighbours sharing about `overlap` tokens.

    The overlap, a quarter of the window at most, keeps a sentence that straddles a cut whole in one of
    the two. `token_spans` gives the character span of every token.
    """
    tokens = token_spans(text)
    if len(tokens) <= window:
        return [(0, len(text))]
    spans: list[Span] = []
    first, start = 0, 0
    while len(tokens) - first > window:
        cut = _cut_before(text, tokens, at=first + window, look_back=window // LOOK_BACK)
        end = max(tokens[cut][0], start + 1)
        spans.append((start, end))
        first = _cut_before(text, tokens, at=cut - overlap, look_back=window // LOOK_BACK)
        start = min(max(tokens[first][0], start + 1), end)
    spans.append((start, len(text)))
    return _refit(text, spans, token_spans, window=window, overlap=overlap)


def spans_by_bytes(text: str, *, limit: int) -> list[Span]:
    """Spans of `text` of at most `limit` UTF-8 bytes each, cut at white space where there is any.

    For models whose tokenizer is not at hand: a token is at least one byte, so `limit` tokens suffice.
    """
    spans: list[Span] = []
    start = 0
    while start < len(text):
        head = text[start : start + limit].encode("utf-8", "surrogatepass")[:limit]
        end = start + len(head.decode("utf-8", "ignore"))
        if end < len(text):
            middle = start + (end - start) // 2
            end = max(text.rfind(" ", middle, end), text.rfind("\n", middle, end)) + 1 or end
        spans.append((start, max(end, start + 1)))
        start = spans[-1][1]
    return spans or [(0, 0)]


class Windowed:
    """An embedder whose model reads `window` tokens at once: longer texts are cut into pieces that overlap a little."""

    window: int
    _tokenizer: Tokenizer

    def split(self, text: str) -> list[str]:
        """Pieces that fit the window, neighbours sharing some tokens."""
        spans = spans_by_tokens(text, self._token_spans, window=self.window, overlap=OVERLAP_TOKENS)
        return [text[start:end] for start, end in spans]

    def _token_spans(self, text: str) -> list[Span]:
        spans: list[Span] = encode(self._tokenizer, text, special=False).offsets
        return spans


def _cut_before(text: str, tokens: Sequence[Span], *, at: int, look_back: int) -> int:
    """The index of a token near `at`, not after it, that begins a word; else one that begins a character."""
    whole: int | None = None
    for index in range(at, at - look_back - 1, -1):
        position = tokens[index][0]
        if position < tokens[index - 1][1]:
            continue  # this token and the one before are parts of one character
        if text[position - 1 : position].isspace() or text[position : position + 1].isspace():
            return index
        whole = index if whole is None else whole
    return at if whole is None else whole


def _refit(
    text: str,
    spans: list[Span],
    token_spans: Callable[[str], Sequence[Span]],
    *,
    window: int,
    overlap: int,
) -> list[Span]:
    """Cut once more what a cut inside a word has made longer in tokens than it was before."""
    fitted: list[Span] = []
    for start, end in spans:
        piece = text[start:end]
        if end - start > 1 and len(token_spans(piece)) > window:
            inner = spans_by_tokens(piece, token_spans, window=window, overlap=overlap)
            fitted += [(start + a, start + b) for a, b in inner]
        else:
            fitted.append((start, end))
    return fitted
