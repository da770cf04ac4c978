"""The synchronous client beside the asynchronous one: the same calls, for readers, type checkers and at work."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from recollect import AsyncRecollect, Recollect, TenantContext
from recollect.client import async_client, sync_client
from recollect.client.portal import Portal, SyncFace, blocking
from recollect.errors import ConflictError, InvalidInputError

ROOT = Path(__file__).resolve().parent.parent
SYNC = [cls for cls in vars(sync_client).values() if inspect.isclass(cls) and issubclass(cls, SyncFace)]
PAIRS = [(cls, getattr(sync_client, f"Async{cls.__name__}")) for cls in SYNC if cls is not SyncFace]


class AsyncRooms:
    """A class of its own, with every kind of argument."""

    color = "blue"

    async def paint(self, first: str, /, *others: str, coats: int = 1, **notes: object) -> list[Any]:
        """Paint all."""
        if coats < 1:
            raise ValueError(f"coats={coats!r}")
        return [self.color, first, others, coats, notes]


class Rooms(SyncFace):
    """Rooms, without `await`."""

    paint = blocking(AsyncRooms.paint)


@pytest.fixture
def rooms() -> Iterator[Rooms]:
    portal = Portal()
    yield Rooms(AsyncRooms(), portal)
    portal.close()


def public(cls: type[Any]) -> dict[str, Any]:
    members = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    return {name: value for name, value in members.items() if not name.startswith("_")}


def test_every_kind_of_argument_goes_through(rooms: Rooms) -> None:
    assert rooms.paint("door") == ["blue", "door", (), 1, {}]
    assert rooms.paint("door", "wall", coats=2, why="rust") == ["blue", "door", ("wall",), 2, {"why": "rust"}]


def test_exceptions_come_through(rooms: Rooms) -> None:
    with pytest.raises(ValueError, match="coats=0"):
        rooms.paint("door", coats=0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        rooms.paint(door="door")  # type: ignore[call-arg]


def test_every_asynchronous_class_has_a_synchronous_one() -> None:
    faces = {
        value
        for name, value in vars(async_client).items()
        if name.startswith("Async") and name[5:6].isupper()
    }
    assert {asynchronous for _, asynchronous in PAIRS} == {face for face in faces if inspect.isclass(face)}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda cls: cls.__name__)
def test_both_have_the_same_calls_with_the_same_signatures_and_docstrings(
    ours: type[Any], theirs: type[Any]
) -> None:
    assert ours.__doc__ == theirs.__doc__
    assert set(public(ours)) == set(public(theirs))
    for name, value in public(theirs).items():
        call = getattr(ours, name)
        assert inspect.getdoc(call) == inspect.getdoc(value)
        assert inspect.getdoc(call), name
        if isinstance(value, property):
            assert isinstance(call, property)
            continue
        assert inspect.isfunction(call)
        assert not inspect.iscoroutinefunction(call)
        assert inspect.signature(call).parameters == inspect.signature(value).parameters
        assert not any(word in inspect.getdoc(call) for word in ("await ", "async with", "Async"))


def test_the_constructors_take_the_same() -> None:
    assert inspect.signature(Recollect) == inspect.signature(AsyncRecollect)


def test_arguments_are_refused_before_a_database_is_started(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="query must be a string, not 3"):
        Recollect(home=tmp_path / "home").search(3)  # type: ignore[arg-type]
    assert not (tmp_path / "home").exists()


def test_a_client_for_another_caller_may_be_closed_after_the_one_it_came_from(tmp_path: Path) -> None:
    client = Recollect(home=tmp_path)
    other = client.for_context(TenantContext(tenant_id="acme", user_id="ana"))
    assert type(other) is Recollect
    assert other.tenant_context.user_id == "ana"
    client.close()
    client.close()
    other.close()
    with pytest.raises(ConflictError, match="is closed"):
        other.get(uuid4())


@pytest.mark.system
def test_type_checkers_see_exact_parameters_and_results(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "from recollect import Recollect\n"
        "client = Recollect()\n"
        "reveal_type(client.search('a', limit=3))\n"
        "reveal_type(client.library.text('guide'))\n"
        "reveal_type(client.for_context(client.tenant_context).count())\n"
        "reveal_type(client.open())\n"
        "client.search(3)\n"
        "client.search('a', limmit=3)\n"
        "client.entities.declare()\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    revealed = [line.split('"')[1].rpartition(".")[2] for line in lines if "Revealed type" in line]
    assert revealed == ["SearchResults", "str", "int", "Recollect"], done.stdout
    errors = [line.partition(" error: ") for line in lines if " error: " in line]
    assert [place for place, _, _ in errors] == ["use.py:7:", "use.py:8:", "use.py:9:"], done.stdout
    assert 'incompatible type "int"; expected "str"' in errors[0][2]
    assert 'Unexpected keyword argument "limmit"' in errors[1][2]
    assert "Too few arguments" in errors[2][2]
