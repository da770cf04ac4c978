"""Worlds of ordinary talk, in a short form that people can write and read: see `worlds/README.md`.

`read_world` gives the same shape as the JSON worlds of `bench everyday`, so both are read by the same code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "worlds"
#: Worlds that the encoder never sees: the last step is calibrated on them.
HELD_BACK = frozenset(
    "platform bigfamily consultant hotel marathon choir vanlife exchange ferrycrew diabetes newjob "
    "oldcolleagues churnnotes franglais tourtruck agentsre dayplanner deedsoffice".split()
)

_HEAD = re.compile(r"# (\S+) (\S+) now=(\S+)")
_SCOPE = re.compile(r"@scope (\S+): (.+)")
_TALK = re.compile(r"@talk (\S+) (user|scope)=(\S+) (\d{4}-\d\d-\d\d)")
_NOTE = re.compile(r"@note (user|scope)=(\S+) (\d{4}-\d\d-\d\d)(?: (semantic|episodic|procedural))?")
_TURN = re.compile(r"(\S+) ([^:]{1,40}): (.+)")
_MEMORY = re.compile(r"(\S+): (.+)")
_KEYS = {"a": "answers", "s": "stale", "r": "related"}


def read_world(path: Path) -> dict[str, Any]:
    """One world: its items in order, its scopes with their members, and its questions."""
    world: dict[str, Any] = {"name": path.stem, "items": [], "scopes": [], "questions": []}
    place: dict[str, Any] = {}
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("//"):
            continue
        try:
            place = _read_line(line, world, place)
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(f"{path.name}:{number}: can't read {line[:60]!r}") from error
    return world


def _read_line(line: str, world: dict[str, Any], place: dict[str, Any]) -> dict[str, Any]:
    """Take one line into the world; gives where the items after it belong."""
    if line.startswith("# "):
        world["name"], world["language"], world["now"] = _groups(_HEAD, line)
    elif line.startswith("@scope "):
        scope, members = _groups(_SCOPE, line)
        world["scopes"].append({"scope": scope, "members": [name.strip() for name in members.split(",")]})
    elif line.startswith("@talk "):
        conversation, owner, name, day = _groups(_TALK, line)
        return {"conversation": conversation, owner: name, "created_at": f"{day}T10:00:00+00:00"}
    elif line.startswith("@note "):
        owner, name, day, kind = _groups(_NOTE, line)
        return {owner: name, "created_at": f"{day}T10:00:00+00:00"} | ({"type": kind} if kind else {})
    elif line.startswith("? "):
        world["questions"].append(_question(line[2:], len(world["questions"]) + 1))
    elif "conversation" in place:
        key, speaker, text = _groups(_TURN, line)
        world["items"].append({"key": key, **place, "speaker": speaker, "text": text})
    else:
        key, text = _groups(_MEMORY, line)
        world["items"].append({"key": key, **place, "text": text})
    return place


def _groups(pattern: re.Pattern[str], line: str) -> tuple[Any, ...]:
    match = pattern.fullmatch(line)
    if match is None:
        raise ValueError(line)
    return match.groups()


def _question(line: str, number: int) -> dict[str, Any]:
    head, text, *parts = (part.strip() for part in line.split(" | "))
    who, kind = head.split()
    question: dict[str, Any] = {"id": f"q{number}", "as": who, "kind": kind, "question": text, "answers": []}
    for part in parts:
        tag, _, keys = part.partition(":")
        question[_KEYS[tag.strip()]] = keys.split()
    return question


def visible(world: dict[str, Any], user: str) -> list[int]:
    """The places of the items that a user sees: their own, and those of the scopes they are a member of."""
    scopes = {one["scope"] for one in world["scopes"] or [] if user in one["members"]}
    return [
        place
        for place, item in enumerate(world["items"])
        if item.get("user") == user or item.get("scope") in scopes
    ]
