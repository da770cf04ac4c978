"""What several processes of one server have counted, told by whichever of them is asked.

Each writes its counts to a folder of theirs, every few seconds; the one that answers reads them all, and a label says
whose each is. One process alone tells its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import telemetry

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_EVERY_S = 2.0
_SUFFIX = ".prom"

_place: tuple[Path, int] | None = None


def share(folder: Path, worker: int) -> None:
    """From now on, put what this process counts where the others find it."""
    global _place
    _place = (folder, worker)

    def write() -> None:
        while folder.is_dir():
            _write(folder, worker)
            threading.Event().wait(_EVERY_S)

    threading.Thread(target=write, name="counts", daemon=True).start()


def metrics_text() -> bytes:
    """What was counted, in Prometheus's text format."""
    if _place is None:
        return telemetry.prometheus_text()
    folder, worker = _place
    _write(folder, worker)
    texts = [(file.stem, file.read_text(encoding="utf-8")) for file in sorted(folder.glob(f"*{_SUFFIX}"))]
    return _together(texts)


def _write(folder: Path, worker: int) -> None:
    """In one step: a reader never sees half of it."""
    made = folder / f"{worker}.{threading.get_ident()}.new"
    try:
        made.write_bytes(telemetry.prometheus_text())
        os.replace(made, folder / f"{worker}{_SUFFIX}")
    except FileNotFoundError:  # the server has stopped, and the folder with it
        return


def _together(texts: Iterable[tuple[str, str]]) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Told(texts))
    return generate_latest(registry)


class _Told:
    """The counts of several processes as one collection."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._texts = list(texts)

    def collect(self) -> Iterator[Metric]:
        """Each metric once, with the samples of all."""
        from prometheus_client.metrics_core import Metric
        from prometheus_client.parser import text_string_to_metric_families

        found: dict[str, Any] = {}
        for worker, text in self._texts:
            for family in text_string_to_metric_families(text):
                one = found.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    one.add_sample(sample.name, {**sample.labels, "worker": worker}, sample.value)
        yield from found.values()
