"""An embedder for a hundred thousand synthetic texts: cheap vectors for them, the real model's time for questions.

The vector of a text is the mean of its words' vectors. Those are close for words of one topic and lie near a space of
few dimensions, as sentences do in a trained model. A question is embedded by the real model too (`bench:arctic`), and
that vector thrown away: a search costs what it costs in earnest, without ten minutes of embedding the corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recollect.providers.embedders import Embedder, EmbedderOptions, EmbeddingSpace, open_embedder
from recollect.providers.embedders.registry import BUILT_IN, BuiltIn
from recollect_bench.texts import Language, make_language

FAMILY = "bench"
DIMENSIONS = 384
#: What sentences of a trained model spread over, more or less; pure noise in 384 would be no model's space.
LATENT = 24
_WORD = re.compile(r"[a-z]+")


#: The one that is open, by the real embedder's name. Stores and floor share it: a model's threads wait busily for a
#: moment after each run, so two models in one process would disturb each other.
_open: dict[str, BenchEmbedder] = {}


@contextmanager
def bench_embedder(real: str) -> Iterator[BenchEmbedder]:
    """While it lasts, `bench:<real>` can be named as an embedder in this process, and is the one given."""
    name_family()
    try:
        with TemporaryDirectory(prefix="recollect-bench-") as cache:
            _open[real] = BenchEmbedder(make_language(), open_embedder(real, cache_dir=Path(cache)))
            yield _open[real]
    finally:
        _open.pop(real, None)
        del BUILT_IN[FAMILY]


def name_family() -> None:
    """From now on `bench:<real>` can be named as an embedder in this process."""
    BUILT_IN[FAMILY] = BuiltIn(
        factory="recollect_bench.vectors:open_bench", needs=(), install="", variants=None
    )


def open_bench(options: EmbedderOptions) -> BenchEmbedder:
    """The factory: the embedder of the benchmark that is running; the variant names the real one."""
    real = options.variant
    if real not in _open:  # a server's process, which no benchmark runs in
        _open[real] = BenchEmbedder(make_language(), open_embedder(real, cache_dir=options.cache_dir))
    return _open[real]


class BenchEmbedder:
    """Vectors from words; nothing here changes after opening."""

    def __init__(self, language: Language, real: Embedder) -> None:
        self.space = EmbeddingSpace(
            name=f"{FAMILY}:{real.space.name}", dimensions=DIMENSIONS, fingerprint="bench-1"
        )
        self.real = real
        self._rows, self._table = _word_vectors(language)

    def split(self, text: str) -> list[str]:
        """Synthetic texts fit every window."""
        return [text]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for number, text in enumerate(texts):
            rows = [self._rows[word] for word in _WORD.findall(text.lower()) if word in self._rows]
            vectors[number] = self._table[rows or [0]].sum(axis=0)
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The question's vector among the synthetic ones, after the real model has done its work."""
        self.real.embed_query(text)
        return self.vector(text)

    def vector(self, text: str) -> NDArray[np.float32]:
        """The vector alone, for asking the database something without a model."""
        found: NDArray[np.float32] = self.embed([text])[0]
        return found


def _word_vectors(language: Language) -> tuple[dict[str, int], NDArray[np.float32]]:
    """A row per word and name: its topics' centre, something of its own, a little noise."""
    chance = np.random.default_rng(7)
    known = [*language.words, *(name.lower() for names in language.names for name in names)]
    rows = {word: number for number, word in enumerate(known)}
    centres = chance.normal(size=(len(language.topics), LATENT))
    latent = 0.8 * chance.normal(size=(len(known), LATENT))
    for topic, (words, names) in enumerate(zip(language.topics, language.names, strict=True)):
        # A name belongs to one topic and says more about it than a word that several share.
        for word, weight in [*((word, 1.0) for word in words), *((name.lower(), 2.0) for name in names)]:
            latent[rows[word]] += weight * centres[topic]
    basis = np.linalg.qr(chance.normal(size=(DIMENSIONS, LATENT)))[0]
    table = latent @ basis.T + 0.02 * chance.normal(size=(len(known), DIMENSIONS))
    return rows, table.astype(np.float32)
