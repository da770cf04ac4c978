"""The generator of the synchronous face, against a small face of its own, run for real."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from recollect.errors import RecollectError

ROOT = Path(__file__).resolve().parent.parent

CLIENT = '''
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, overload

from sample.client_rooms import AsyncRooms

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 10
Progress = Callable[[int], None]


class Keep:
    """Marks an argument that was not given."""


class AsyncRecollect:
    """The door. `await AsyncRecollect().get(1)`, or

    `async with AsyncRecollect() as r: ...`
    """

    def __init__(self, home: Path | None = None, *, color: str = "red") -> None:
        self.color: str = color
        self._home = home
        self._calls: builtins.list[str] = []

    async def open(self) -> Self:
        """Open it."""
        self._calls.append("open")
        return self

    async def close(self) -> None:
        """Close it."""
        self._calls.append("close")

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *reason: object) -> None:
        await self.close()

    def for_color(self, color: str) -> AsyncRecollect:
        """Another, for another color."""
        return AsyncRecollect(self._home, color=color)

    @property
    def calls(self) -> tuple[str, ...]:
        """What was called."""
        return tuple(self._calls)

    @property
    def rooms(self) -> AsyncRooms:
        """The rooms."""
        return AsyncRooms(self)

    @overload
    async def add(self, item: str, /, *, limit: int = ...) -> str: ...
    @overload
    async def add(self, item: Iterable[int], /, *, limit: int = ...) -> builtins.list[int]: ...
    async def add(self, item: str | Iterable[int], /, *, limit: int = LIMIT) -> str | builtins.list[int]:
        """Add one or many."""
        if limit < 1:
            raise ValueError(f"limit={limit!r}")
        return item if isinstance(item, str) else builtins.list(item)

    async def list(
        self, *names: str, note: str | type[Keep] = Keep, progress: Progress | None = None, **rest: Any
    ) -> builtins.list[Any]:
        """All that was passed."""
        return [names, note, progress, rest]

    async def _secret(self) -> None: ...
'''

ROOMS = '''
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sample.client import AsyncRecollect


class AsyncCounted:
    """What can be counted."""

    async def count(self) -> int:
        """How many."""
        return 3


class AsyncRooms(AsyncCounted):
    """Rooms of a door."""

    def __init__(self, client: AsyncRecollect) -> None:
        self._client = client

    async def paint(self, color: str) -> str:
        """Paint all."""
        return f"{self._client.color} -> {color}"
'''


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_sync", ROOT / "tools" / "generate_sync.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sample(tmp_path: Path, generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "client.py").write_text(CLIENT)
    (package / "client_rooms.py").write_text(ROOMS)
    (package / "client_sync.py").write_text(generator.generate("sample.client", tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "sample"]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("sample.client_sync")


def unsupported(generator: ModuleType, tmp_path: Path, body: str) -> str:
    package = tmp_path / "odd"
    package.mkdir()
    (package / "client.py").write_text(
        f"class AsyncRecollect:\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    )
    with pytest.raises(generator.UnsupportedError) as caught:
        generator.generate("odd.client", tmp_path)
    return str(caught.value)


def test_calls_go_through_with_every_kind_of_argument(sample: ModuleType) -> None:
    keep = importlib.import_module("sample.client").Keep
    with sample.Recollect() as door:
        assert door.add("a") == "a"
        assert door.add([1, 2], limit=5) == [1, 2]
        assert door.list("x", "y", extra=1) == [("x", "y"), keep, None, {"extra": 1}]


def test_attributes_properties_and_other_faces_pass_through(sample: ModuleType) -> None:
    with sample.Recollect(color="blue") as door:
        assert door.color == "blue"
        assert door.calls == ("open",)
        assert type(door.rooms) is sample.Rooms
        assert door.rooms.paint("green") == "blue -> green"
        assert door.rooms.count() == 3
        assert door.open() is door


def test_a_client_for_another_caller_shares_the_portal_and_does_not_end_it(sample: ModuleType) -> None:
    with sample.Recollect() as door:
        with door.for_color("green") as other:
            assert type(other) is sample.Recollect
            assert other.rooms.paint("x") == "green -> x"
        assert other.calls == ("open", "close")
        assert door.add("still open") == "still open"


def test_closing_closes_the_asynchronous_client_once(sample: ModuleType) -> None:
    door = sample.Recollect()
    door.open()
    door.close()
    door.close()
    assert door.calls == ("open", "close")


def test_a_client_for_another_caller_may_be_closed_after_the_one_it_came_from(sample: ModuleType) -> None:
    door = sample.Recollect()
    other = door.for_color("green").open()
    door.close()
    other.close()
    with pytest.raises(RecollectError, match="is closed"):
        other.add("a")


def test_exceptions_come_through(sample: ModuleType) -> None:
    with sample.Recollect() as door, pytest.raises(ValueError, match="limit=0"):
        door.add("a", limit=0)


def test_signatures_and_docstrings_are_those_of_the_asynchronous_face(sample: ModuleType) -> None:
    client = importlib.import_module("sample.client")
    for name in ("__init__", "open", "close", "add", "list"):
        ours = inspect.signature(getattr(sample.Recollect, name))
        theirs = inspect.signature(getattr(client.AsyncRecollect, name))
        assert ours == theirs
    assert sample.Recollect.list.__doc__ == "All that was passed."
    assert "`Recollect().get(1)`" in sample.Recollect.__doc__
    assert "`with Recollect() as r: ...`" in sample.Recollect.__doc__
    assert not hasattr(sample.Recollect, "_secret")


@pytest.mark.system
def test_the_result_is_typed_strictly(sample: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "from sample.client_sync import Recollect\n"
        "with Recollect() as door:\n"
        "    reveal_type(door.add('a'))\n"
        "    reveal_type(door.add([1]))\n"
        "    reveal_type(door.for_color('x').rooms.count())\n"
        "    door.list(note=3)\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    done = subprocess.run([*command, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert [name.replace("builtins.", "") for name in revealed] == ["str", "list[int]", "int"], done.stdout
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert "use.py:6" in errors[0]


def test_the_result_says_that_it_is_generated(sample: ModuleType) -> None:
    text = Path(str(sample.__file__)).read_text()
    assert text.startswith("# generated by tools/generate_sync.py; do not edit\n")
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("def __init__(self) -> None:\n    self.color = 1", "AsyncRecollect.color is public; annotate it"),
        ("async def get(self): ...", "AsyncRecollect.get has no return annotation"),
        ("@staticmethod\ndef get() -> int: ...", "AsyncRecollect.get is decorated with ['staticmethod']"),
        ("async def all(self) -> int:\n    yield 1", "AsyncRecollect.all is an async generator"),
    ],
)
def test_what_has_no_rule_is_refused(
    generator: ModuleType, tmp_path: Path, body: str, complaint: str
) -> None:
    assert unsupported(generator, tmp_path, body).startswith(complaint)


def test_the_committed_face_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_sync.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_faces_have_the_same_public_calls() -> None:
    from recollect import AsyncRecollect, Recollect

    def public(cls: type[Any]) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(AsyncRecollect) - public(Recollect) == set()
    asynchronous = inspect.signature(AsyncRecollect.search)
    assert inspect.signature(Recollect.search).parameters == asynchronous.parameters
