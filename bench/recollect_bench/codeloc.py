"""Which files does an issue have to do with? Real issues, the trees they were written about, no model.

`--data` holds `issues_dev.json` (repository, commit, text, the files its fix changed), `--repos` one bare clone for
each repository, named `owner+name`. Every tree is laid out at its commit, file by file from the clone (no checkout:
filters and hooks of a repository are never run), and explored through the same door as by a user. An issue is found
among the first k when all its files are; the data counts files that are Python and no tests, and so do we.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect_bench.questions import latency
from recollect_bench.result import Bar, Result, describe_environment, fingerprint, read_json

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex
    from recollect.domain.findings import Citation
    from recollect_bench.show import Show

CUTOFFS = (1, 3, 5, 10)
#: All files of an issue among the first five, and among the first.
WANTED = {5: 0.76, 1: 0.50}
#: What BM25 over whole files reaches on the same issues, from the description of the data.
PLAIN = {1: 0.39, 3: 0.61, 5: 0.66, 10: 0.80}
_FILE = "issues_dev.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue, and the files that were changed for it."""

    id: str
    repository: str
    commit: str
    text: str
    files: tuple[str, ...]
    #: The functions that were changed, by file, where the data names them.
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an exploration cited for an issue, the likeliest first, and how long it took once the index was there.

    `function`: whether lines of a changed function were cited; None when no function was changed that existed.
    """

    issue: Issue
    cited: tuple[str, ...]
    seconds: float
    function: bool | None = None

    @property
    def counted(self) -> tuple[str, ...]:
        """The files that the data counts."""
        from recollect.codebase.languages import is_test_path

        return tuple(path for path in self.cited if path.endswith(".py") and not is_test_path(path))

    def within(self, cutoff: int, *, strict: bool = False) -> bool:
        """Whether all files of the issue are among the first. `strict` counts every cited file, tests and all."""
        return set(self.issue.files) <= set((self.cited if strict else self.counted)[:cutoff])


def run_codeloc(
    data: Path, repos: Path, *, limit_questions: int | None = None, home: Path | None = None, show: Show
) -> Result:
    """Explore every tree for its issue, and count. The index is kept in `home`, if there is one."""
    environment = describe_environment()
    issues = read_issues(data / _FILE, limit_questions=limit_questions)
    clones = {issue.repository: find_clone(repos, issue.repository) for issue in issues}
    found: list[Found] = []
    with (
        tempfile.TemporaryDirectory(prefix="recollect-codeloc-") as folder,
        show.stage("exploring trees", len(issues)) as progress,
    ):
        for repository, clone in clones.items():
            own = [issue for issue in issues if issue.repository == repository]
            for one in _explore_all(own, clone, Path(folder), home or Path(folder) / "home"):
                found.append(one)
                progress(len(found), len(issues))
    arguments = {"data": fingerprint(data / _FILE), "limit_questions": limit_questions}
    return summarise(found, arguments=arguments, environment=environment)


def summarise(
    found: Sequence[Found], *, arguments: Mapping[str, Any], environment: Mapping[str, Any]
) -> Result:
    """The measures and bars of what was found."""
    return Result(
        bench="codeloc",
        arguments=arguments,
        measures={
            "found": _table(found),
            "every_cited_file_counts": {
                f"@{cutoff}": _share(found, cutoff, strict=True) for cutoff in CUTOFFS
            },
            "bm25_over_files": {f"@{cutoff}": share for cutoff, share in PLAIN.items()},
            "function_cited": _functions(found),
            "missed": [one.issue.id for one in found if not one.within(5)],
            "explore_ms": latency([one.seconds * 1_000 for one in found]),
        },
        bars=[
            Bar(name=f"all files of an issue among the first {cutoff}", value=_share(found, cutoff), bar=bar)
            for cutoff, bar in WANTED.items()
        ],
        environment=environment,
    )


def read_issues(file: Path, *, limit_questions: int | None = None) -> list[Issue]:
    """The issues, or some of them, evenly spread."""
    try:
        issues = [
            Issue(
                id=row["id"],
                repository=row["repo"],
                commit=row["base_commit"],
                text=row["query"],
                files=tuple(row["gold_files"]),
                functions=row.get("gold_spans", {}),
            )
            for row in read_json(file, what="data")
        ]
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"{file.name!r} is not a list of issues: {error!r} is missing") from error
    if limit_questions is None or limit_questions >= len(issues):
        return issues
    return [issues[number * len(issues) // limit_questions] for number in range(limit_questions)]


def find_clone(repos: Path, repository: str) -> Path:
    """The git folder of a repository: `owner+name`, or `repo` or `.git` in it."""
    folder = repos / repository.replace("/", "+")
    for place in (folder, folder / "repo", folder / ".git"):
        if (place / "objects").is_dir() and (place / "HEAD").exists():
            return place
    raise InvalidInputError(
        f"there is no clone of {repository!r} in {str(repos)!r}; make one with `git clone --bare` at {folder.name!r}"
    )


# ------------------------------------------------------------ trees


class Layout:
    """A folder that holds the tree of one commit after the other; only what differs is written."""

    def __init__(self, clone: Path, folder: Path) -> None:
        self._clone = clone
        self._folder = folder
        self._held: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def show(self, commit: str) -> None:
        """Make the folder hold the files of a commit. Links and submodules are left out."""
        wanted = self._listed(commit)
        for path in self._held.keys() - wanted.keys():
            (self._folder / path).unlink(missing_ok=True)
        changed = {path: blob for path, blob in wanted.items() if self._held.get(path) != blob}
        with self._blobs() as (requests, answers):
            for path, blob in changed.items():
                target = self._folder / path
                if target.is_dir():  # a folder of the commit before
                    target.rmdir()
                target.parent.mkdir(parents=True, exist_ok=True)
                requests.write(blob.encode() + b"\n")
                requests.flush()
                _, kind, *size = answers.readline().split()
                if kind == b"missing":  # a clone without its largest files still has the program
                    continue
                target.write_bytes(answers.read(int(size[0])))
                answers.read(1)
        self._held = wanted

    def _listed(self, commit: str) -> dict[str, str]:
        command = ["git", f"--git-dir={self._clone}", "ls-tree", "-r", "-z", commit]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip()
            raise InvalidInputError(f"the clone {self._clone.name!r} has no commit {commit!r}: {why}")
        listed = {}
        for row in done.stdout.split(b"\0"):
            about, _, path = row.partition(b"\t")
            mode, kind, blob = about.split() if about else (b"", b"", b"")
            if kind == b"blob" and mode != b"120000":
                listed[path.decode("utf-8", "surrogateescape")] = blob.decode()
        return listed

    @contextmanager
    def _blobs(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        command = ["git", f"--git-dir={self._clone}", "cat-file", "--batch"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield process.stdin, process.stdout
            process.stdin.close()


def _explore_all(issues: Sequence[Issue], clone: Path, folder: Path, home: Path) -> Iterator[Found]:
    """One tree after the other, in one folder: the index parses again only what differs."""
    import asyncio

    from recollect.codebase.explore import RLMOrchestrator
    from recollect.codebase.index import CodeIndex
    from recollect.codebase.request import MAX_QUERY_CHARS
    from recollect.codebase.tree import open_tree
    from recollect.config import Settings

    root = folder / "trees" / clone.parent.name / clone.name
    layout = Layout(clone, root)
    settings = Settings(home=home)
    for issue in issues:
        layout.show(issue.commit)
        # Parsing is another benchmark's business, and has no place under an exploration's wall clock here.
        with CodeIndex.open(open_tree(root), settings.home / "cache" / "codebase") as index:
            functions = changed_functions(index, issue)
        started = time.perf_counter()
        explorer = RLMOrchestrator(root, settings=settings, audit_dir=folder / "audit")
        # What is too long for a question is given as its material, as the error for it advises.
        asked, rest = issue.text[:MAX_QUERY_CHARS], issue.text[MAX_QUERY_CHARS:]
        result = asyncio.run(explorer.explore(issue.id, asked, [rest] if rest.strip() else None))
        seconds = time.perf_counter() - started
        yield Found(
            issue=issue,
            cited=result.files,
            seconds=seconds,
            function=any(overlap(one, functions) for one in result.citations) if functions else None,
        )


def changed_functions(index: CodeIndex, issue: Issue) -> set[tuple[str, int, int]]:
    """Where the functions stand that were changed for an issue: path, first and last line."""
    return {
        (path, found.symbol.start_line, found.symbol.end_line)
        for path, names in issue.functions.items()
        for name in names
        for found in index.definitions(name)
        if found.path == path and found.symbol.kind in ("function", "method")
    }


def overlap(citation: Citation, functions: Iterable[tuple[str, int, int]]) -> bool:
    """Whether a citation has a line of one of the functions."""
    return any(
        citation.file_path == path and citation.line_start <= last and first <= citation.line_end
        for path, first, last in functions
    )


# ------------------------------------------------------------ counting


def _share(found: Sequence[Found], cutoff: int, *, strict: bool = False) -> float:
    return sum(one.within(cutoff, strict=strict) for one in found) / max(1, len(found))


def _functions(found: Sequence[Found]) -> dict[str, float]:
    asked = [one.function for one in found if one.function is not None]
    return {"issues": len(asked), "share": sum(asked) / max(1, len(asked))}


def _table(found: Sequence[Found]) -> Mapping[str, Any]:
    groups = {"all": list(found)}
    for one in found:
        groups.setdefault(one.issue.repository, []).append(one)
    return {
        name: {"issues": len(group), **{f"@{cutoff}": _share(group, cutoff) for cutoff in CUTOFFS}}
        for name, group in groups.items()
    }
