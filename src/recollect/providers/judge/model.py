"""The trained judge on ONNX Runtime: how likely each of some statements answers a question; and how they are put to it.

A cross-encoder of six layers over (question, statement). It was trained by `training/` from all-MiniLM-L6-v2 on open
question sets and on worlds of ordinary talk; docs/judge.md is its model card. The files are part of this package,
checked by SHA-256. It was trained on exactly the wording that is made here, so a change of that asks for a new
training.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.errors import EmbedderFailedError
from recollect.providers.embedders.weights import file_sha256
from recollect.providers.runtime import encode, in_batches, open_session, open_tokenizer, usable_cores

#: What the judge reads of a text, and of the turn before it: more is cut, since it reads some sixty tokens.
TEXT_CHARS = 280
BEFORE_CHARS = 70


#: A day that is asked for with "what", as in "what is Tom's birthday?"; not what only has the word in it, as in "what
#: is the birthday cake made of?".
_WHAT_DAY = re.compile(
    r"^(\W*)what(?P<verb>'s|’s| is| was)"
    r"(?= [^?]*\b(?:birthday|birth date|date of birth|anniversary|deadline|due date)\s*(?:\?|$|of\b|for\b))",
    re.IGNORECASE,
)


#: A question for whatever is known of something: what it is about says it all.
_ABOUT = re.compile(
    r"^\W*(?:please |so |and |ok |hey )?(?:(?:can|could) you )?(?:please )?"
    r"(?:tell me (?:more |everything |all |something |a bit )?about|what (?:do|did) (?:you|we|i) know (?:about|of|on)"
    r"|(?:give me |i need )?(?:an |the )?(?:overview|summary) (?:of|on)|summari[sz]e|anything (?:new )?(?:about|on)"
    r"|catch me up on|update me on|brief me on|remind me (?:about|of))\s+(?P<topic>\S.*?)[\s?.!]*$",
    re.IGNORECASE | re.DOTALL,
)


#: A mark that is repeated says no more than two of it, and would fill what a model reads of a question.
_RUN = re.compile(r"([^\w\s])\1{2,}")


def without_runs(question: str) -> str:
    """A question without long runs of the same mark."""
    return _RUN.sub(r"\1", question)


def question_text(question: str) -> str:
    """A question as the judge reads it: a day is asked for with "when", and a topic by its name alone."""
    question = without_runs(question)
    about = _ABOUT.match(question)
    return about["topic"] if about else _WHAT_DAY.sub(r"\1When\g<verb>", question, count=1)


def statement(
    text: str, *, who: str | None = None, at: datetime | None = None, before: str | None = None
) -> str:
    """A memory as the judge reads it. `who` is "I" when it is the asker's; `before` is the turn it replies to."""
    head = ", ".join(part for part in (who, f"{at:%b %Y}" if at is not None else None) if part)
    words = " ".join(text[:TEXT_CHARS].split())
    words = f"{head}: {words}" if head else words
    if before:
        words += f" (before: {' '.join(before[-BEFORE_CHARS:].split())})"
    return words


WEIGHTS = Path(__file__).parent / "weights"
SHA256 = {
    "judge.onnx": "59010527800a06fc7e91386dc0174af7e0dd9e4d4ad9a3d163f3af34fbb46688",
    "words.npz": "87e2c957fed32e485b5bd9b88e98538b20ddf77c21fb4ba2bfc108eb45dba397",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

#: As in training: longer questions and statements are cut.
QUESTION_TOKENS, PAIR_TOKENS = 72, 120
#: Pairs in a run of the network; the smaller a batch, the less it is padded and the better cores share the work.
BATCH_PAIRS = 6
_CLS, _SEP = 101, 102

Floats = NDArray[np.float32]


def open_judge(*, cache_dir: Path) -> Judge:
    """Open the judge that came with this package."""
    for name, expected in SHA256.items():
        digest = file_sha256(WEIGHTS / name, cache_dir=cache_dir) if (WEIGHTS / name).is_file() else "missing"
        if digest != expected:
            raise EmbedderFailedError(
                f"the judge's file {name!r} has the SHA-256 {digest!r} instead of {expected!r}; reinstall recollect"
            )
    return Judge(WEIGHTS, threads=usable_cores())


class Judge:
    """The opened judge; sessions, tokenizer and word vectors are shared by threads and never change."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._session = open_session(folder / "judge.onnx", name="judge", optimise=False)
        self._tokenizer = open_tokenizer((folder / "tokenizer.json").read_bytes())
        with np.load(folder / "words.npz") as file:
            self._words: NDArray[np.int8] = file["words"]
            self._scale = file["scale"].astype(np.float32)
            positions, types = file["positions"].astype(np.float32), file["types"].astype(np.float32)
        # Where a token stands and which side it is on: [side, place].
        self._places = positions[None, :, :] + types[:, None, :]
        self._threads = threads

    def read(self, question: str, statements: Sequence[str]) -> Floats:
        """A logit for every statement: how likely it answers the question."""
        return self.read_pairs([(question, statement) for statement in statements])

    def read_pairs(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """A logit for every pair of a question and a statement."""
        logits = np.zeros(len(pairs), dtype=np.float32)
        heads = {
            question: [_CLS, *self._ids(question_text(question))[:QUESTION_TOKENS], _SEP]
            for question in dict.fromkeys(question for question, _ in pairs)
        }
        rows = [
            (heads[question], [*self._ids(statement)[: PAIR_TOKENS - len(heads[question]) - 1], _SEP])
            for question, statement in pairs
        ]

        def fill(batch: list[int]) -> None:
            embeddings, mask = self._embed([rows[place] for place in batch])
            (verdict,) = self._session.run(["verdict"], {"embeddings": embeddings, "mask": mask})
            logits[batch] = verdict[:, 0]

        # At least one batch for every thread.
        size = max(1, min(BATCH_PAIRS, -(-len(rows) // self._threads)))
        lengths = [len(head) + len(tail) for head, tail in rows]
        in_batches(fill, lengths, size=size, threads=self._threads)
        return logits

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = encode(self._tokenizer, text, special=False).ids
        return ids

    def _embed(self, rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Floats, NDArray[np.int32]]:
        """Summed embeddings and mask of some rows, each the ids of a question and of a statement."""
        longest = max(len(head) + len(tail) for head, tail in rows)
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        side = np.zeros_like(ids)
        mask = np.zeros((len(rows), longest), dtype=np.int32)
        for row, (head, tail) in enumerate(rows):
            end = len(head) + len(tail)
            ids[row, :end] = head + tail
            side[row, len(head) :] = 1
            mask[row, :end] = 1
        words = self._words[ids].astype(np.float32) * self._scale[ids][:, :, None]
        return words + self._places[side, np.arange(longest)], mask
