import math

import numpy as np

from recollect.providers.embedders.contract import EmbeddingSpace


class Letters:
    """Vectors that count letters: a door's smallest example, and a poor embedder."""

    def __init__(self, options):
        self.space = EmbeddingSpace(name="letters", dimensions=26, fingerprint="1")

    def split(self, text):
        return [text]

    def embed(self, texts):
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text):
        counts = np.array([1 + text.lower().count(chr(97 + n)) for n in range(26)], dtype=np.float32)
        return counts / math.sqrt(float(counts @ counts))
