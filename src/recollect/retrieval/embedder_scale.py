"""How the cosines of a store's embedder read: known, or measured once per process by asking it a few questions."""

from __future__ import annotations

import asyncio

import numpy as np

from recollect.retrieval.rank import Calibration, calibration_for
from recollect.retrieval.rank.calibration import PROBES, UNKNOWN, measured
from recollect.workspace import OpenSpace

#: By fingerprint: an embedder nobody tried on real data is measured once per process.
_measured: dict[str, Calibration] = {}


async def calibration_of(opened: OpenSpace) -> Calibration:
    """How the embedder's cosines read; an unknown one is asked a few questions whose answers are known."""
    known = calibration_for(opened.space.name)
    if known is not UNKNOWN:
        return known
    if opened.space.fingerprint not in _measured:
        embedder = opened.embedder
        questions = await asyncio.to_thread(
            lambda: [embedder.embed_query(question) for question, _ in PROBES]
        )
        notes = await asyncio.to_thread(embedder.embed, [note for _, note in PROBES])
        _measured[opened.space.fingerprint] = measured(np.array(questions), np.asarray(notes))
    return _measured[opened.space.fingerprint]
