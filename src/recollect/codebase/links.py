"""How files refer to each other, and what matters near the files of a question: PageRank over these links.

A name alone may be defined in many files. What a file imports decides between them; where nothing does, each gets its
share. Names stay within a family of languages: a Python file does not call what a Java file defines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.codebase.index import ReferenceGraph

Array = NDArray[Any]
FloatArray = NDArray[np.float64]

#: A name defined in more files than this says nothing about which is meant, unless an import does.
_MAX_DEFINING = 8
#: More than this is not even compared with the imports.
_MAX_COMPARED = 32
#: A call, an import or an inheritance counts so many times as much as a mere use.
_WEAK = 0.3
_IMPORT_WEIGHT = 1.0
_CHUNK_ROWS = 2_000_000
_MAX_TARGETS = 3
_MAX_FOLDER_FILES = 20
_FAMILIES = {"javascript": 1, "typescript": 1, "tsx": 1, "c": 2, "cpp": 2, "python": 3, "go": 4, "rust": 5, "java": 6,
             "ruby": 7, "php": 8, "csharp": 9, "bash": 10}  # fmt: skip
_SEPARATORS = re.compile(r"[./\\]+|::")
_PATH_LANGUAGES = frozenset({"javascript", "typescript", "tsx", "c", "cpp", "ruby", "go", "bash"})
#: Files that stand for their folder.
_FOLDER_FILES = frozenset({"__init__", "index", "mod", "lib", "main"})


@dataclass(frozen=True, slots=True)
class FileNames:
    """Names and files in pairs; a pair may come more than once."""

    keys: Array
    files: Array


def link(
    paths: Sequence[str],
    languages: Sequence[str | None],
    modules: Sequence[Sequence[str]],
    *,
    defined: FileNames,
    used: FileNames,
    strong: Array,
    weak: Array,
) -> tuple[Array, Array, Array]:
    """The reference graph: (using file, defining file, weight), each pair once."""
    families = np.array([_FAMILIES.get(language or "", 0) for language in languages], dtype=np.uint64)
    salt = (families * np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    count = np.int64(max(1, len(paths)))
    imported = np.unique(
        np.array(_import_pairs(paths, languages, modules), dtype=np.int64).reshape(-1, 2)
        @ np.array([count, 1])
    )
    definitions = _unique_pairs(defined, salt)
    keys = used.keys ^ salt[used.files]
    first = np.searchsorted(definitions.keys, keys, side="left")
    number = np.searchsorted(definitions.keys, keys, side="right") - first
    own = _own(definitions, keys, used.files, count)
    rows = np.flatnonzero((number > 0) & (number <= _MAX_COMPARED) & ~own)
    weight = np.sqrt(strong[rows] + np.square(_WEAK) * weak[rows]).astype(np.float32)
    codes: list[Array] = [imported]
    weights: list[Array] = [np.full(len(imported), _IMPORT_WEIGHT, dtype=np.float32)]
    ends = np.cumsum(number[rows])
    begin = 0
    while begin < len(rows):
        taken = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, taken + _CHUNK_ROWS, side="right")))
        code, value = _expand(
            used.files[rows[begin:end]], weight[begin:end], first[rows[begin:end]], number[rows[begin:end]],
            definitions.files, imported, count,
        )  # fmt: skip
        code, value = _summed(code, value)
        codes.append(code)
        weights.append(value)
        begin = end
    code, value = _summed(np.concatenate(codes), np.concatenate(weights))
    sources, targets = code // count, code % count
    other = sources != targets
    return sources[other].astype(np.int32), targets[other].astype(np.int32), value[other]


def _expand(
    sources: Array, weight: Array, first: Array, number: Array, files: Array, imported: Array, count: np.int64
) -> tuple[Array, Array]:
    """One row for each file that defines a used name, its share of the weight beside it."""
    group = np.repeat(np.arange(len(sources)), number)
    place = (
        np.arange(int(number.sum()))
        - np.repeat(np.cumsum(number) - number, number)
        + np.repeat(first, number)
    )
    code = sources[group].astype(np.int64) * count + files[place]
    chosen = np.isin(code, imported, assume_unique=False)
    any_chosen = np.zeros(len(sources), dtype=bool)
    any_chosen[group[chosen]] = True
    keep = np.where(any_chosen[group], chosen, number[group] <= _MAX_DEFINING)
    group, code = group[keep], code[keep]
    shares = np.bincount(group, minlength=len(sources))
    return code, (weight[group] / shares[group]).astype(np.float32)


def _summed(code: Array, value: Array) -> tuple[Array, Array]:
    order = np.argsort(code, kind="stable")
    code, value = code[order], value[order]
    if not len(code):
        return code, value
    starts = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
    return code[starts], np.add.reduceat(value, starts)


def _unique_pairs(names: FileNames, salt: Array) -> FileNames:
    keys = names.keys ^ salt[names.files]
    order = np.lexsort((names.files, keys))
    keys, files = keys[order], names.files[order]
    if len(keys):
        new = np.concatenate(([True], (keys[1:] != keys[:-1]) | (files[1:] != files[:-1])))
        keys, files = keys[new], files[new]
    return FileNames(keys, files)


def _own(definitions: FileNames, keys: Array, files: Array, count: np.int64) -> Array:
    """Which used names the using file defines itself: those do not leave it."""
    mixed = (definitions.keys * np.uint64(count)) ^ definitions.files.astype(np.uint64)
    used = (keys * np.uint64(count)) ^ files.astype(np.uint64)
    return np.isin(used, mixed)


# ---------------------------------------------------------------- imports


def _import_pairs(
    paths: Sequence[str], languages: Sequence[str | None], modules: Sequence[Sequence[str]]
) -> list[tuple[int, int]]:
    finder = _Finder(paths, languages)
    pairs = []
    known: dict[tuple[str, str, int], list[int]] = {}
    for number, path in enumerate(paths):
        language = languages[number]
        if language is None or not modules[number]:
            continue
        folder = path.rpartition("/")[0]
        for module in dict.fromkeys(modules[number]):
            key = (folder, module, _FAMILIES.get(language, 0))
            if key not in known:
                known[key] = finder.find(module, folder, language)
            pairs += [(number, target) for target in known[key] if target != number]
    return pairs


class _Finder:
    """Finds the files a module's name may mean, by the ends of their paths."""

    def __init__(self, paths: Sequence[str], languages: Sequence[str | None]) -> None:
        self._stems: list[tuple[str, ...]] = []
        self._by_last: dict[tuple[int, str], list[int]] = {}
        self._by_folder: dict[tuple[int, str], list[int]] = {}
        for number, path in enumerate(paths):
            parts = path.rpartition(".")[0].split("/") if "." in path.rpartition("/")[2] else path.split("/")
            folder = path.split("/")[:-1]
            if parts[-1] in _FOLDER_FILES and len(parts) > 1:
                parts = parts[:-1]
            self._stems.append(tuple(parts))
            family = _FAMILIES.get(languages[number] or "", 0)
            if family:
                self._by_last.setdefault((family, parts[-1]), []).append(number)
                if folder and languages[number] in {"go", "java", "csharp"}:
                    self._by_folder.setdefault((family, "/".join(folder[-2:])), []).append(number)

    def find(self, module: str, folder: str, language: str) -> list[int]:
        """A few files at most, the best first; none when nothing fits."""
        family = _FAMILIES.get(language, 0)
        parts = self._parts(module, folder, language)
        if not parts:
            return []
        if language == "go":
            return self._by_folder.get((family, "/".join(parts[-2:])), [])[:_MAX_FOLDER_FILES]
        files = self._ending(family, parts, folder)
        # `import a.b.c` may mean the name `c` in `a/b`.
        return files or (self._ending(family, parts[:-1], folder) if len(parts) > 1 else [])

    def _parts(self, module: str, folder: str, language: str) -> list[str]:
        if language == "python":
            if not module.startswith("."):
                return module.split(".")
            above = len(module) - len(module.lstrip("."))
            base = folder.split("/") if folder else []
            base = base[: len(base) - above + 1] if above > 1 else base
            return [*base, *filter(None, module.lstrip(".").split("."))]
        if language in _PATH_LANGUAGES:
            relative = module.startswith(".")
            stem = re.sub(r"\.[A-Za-z0-9+]{1,4}$", "", module)
            parts = [*(folder.split("/") if relative and folder else []), *stem.split("/")]
            clean: list[str] = []
            for part in parts:
                if part == ".." and clean:
                    clean.pop()
                elif part not in {"", ".", "..", "@"}:
                    clean.append(part)
            return clean[:-1] if len(clean) > 1 and clean[-1] in _FOLDER_FILES else clean
        return [part for part in _SEPARATORS.split(module) if part and part not in {"crate", "self", "super"}]

    def _ending(self, family: int, parts: Sequence[str], folder: str) -> list[int]:
        candidates = self._by_last.get((family, parts[-1]), []) if parts else []
        if not candidates or len(candidates) > 200:
            return []
        near = folder.split("/") if folder else []
        scored = []
        for number in candidates:
            stem = self._stems[number]
            same = 0
            while same < min(len(stem), len(parts)) and stem[-1 - same] == parts[-1 - same]:
                same += 1
            # One word alone may be anything; it must be all there is of the path, or of the name.
            if same >= min(2, len(parts)) and (same == len(parts) or same >= 2 or same == len(stem)):
                shared = 0
                while shared < min(len(near), len(stem)) and near[shared] == stem[shared]:
                    shared += 1
                scored.append((-same, -shared, number))
        scored.sort()
        return [
            number for score in scored[:_MAX_TARGETS] if score[0] == scored[0][0] for number in (score[2],)
        ]


#: A walker goes on with this chance, else back to a seed: the neighbourhood counts, not the tree's centre.
DAMPING = 0.6
#: From what is used back to its users: half as likely as from users to what they use.
BACKWARDS = 0.5
#: With this damping less than 0.00004 of the mass still moves after so many steps.
ITERATIONS = 20


def personalised_pagerank(graph: ReferenceGraph, seeds: FloatArray) -> FloatArray:
    """How often a walker from the seeds (weights by number of file) stands at each file; it sums to 1.

    Without a seed it is zero everywhere. A file without edges sends the walker back to the seeds.
    """
    files = len(seeds)
    total = float(seeds.sum())
    if total <= 0:
        return np.zeros(files)
    start = np.asarray(seeds, dtype=np.float64) / total
    if not len(graph.sources):
        return start
    source = np.concatenate([graph.sources, graph.targets])
    target = np.concatenate([graph.targets, graph.sources])
    weight = np.concatenate([graph.weights, graph.weights * BACKWARDS]).astype(np.float64)
    out = np.bincount(source, weight, minlength=files)
    share = weight / np.maximum(out[source], 1e-12)
    mass = start
    for _ in range(ITERATIONS):
        moved = DAMPING * np.bincount(target, mass[source] * share, minlength=files)
        mass = moved + (1.0 - moved.sum()) * start
    return mass
