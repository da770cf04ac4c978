"""The steps of a run as a tree that grows while it goes on, on standard error. Nobody watching, nothing drawn.

It hears the engine's events (runs/events.py) and knows no material.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.surfaces.cli.output import Output, one_line, visible

if TYPE_CHECKING:
    from rich.live import Live
    from rich.tree import Tree

    from recollect.runs.events import Event

Watchers = tuple[Callable[["Event"], None] | None, Callable[[int, int | None], None] | None]
#: Of a parameter in a line.
_SHOWN_CHARS = 60


@contextmanager
def watch_steps(out: Output) -> Iterator[Watchers]:
    """What to give a run as `on_event` and `progress`; both None when there is no terminal to draw on."""
    if out.as_json or not sys.stderr.isatty():
        yield None, None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text("exploring", style="bold"))
    with Live(root, console=Console(stderr=True), refresh_per_second=8, transient=True) as live:
        tree = StepTree(root, live)
        yield tree.hear, tree.progress


class StepTree:
    """Draws events. The engine tells from its own thread, so one lock is around all of it."""

    def __init__(self, root: Tree, live: Live) -> None:
        self._root = root
        self._live = live
        self._lock = threading.Lock()
        #: The branch of each run, of its newest step, and of each call under way.
        self._runs: dict[UUID, Tree] = {}
        self._steps: dict[UUID, Tree] = {}
        self._calls: dict[tuple[UUID, int, int], tuple[Tree, str]] = {}
        self._found = 0

    def hear(self, event: Event) -> None:
        """Draw what happened."""
        with self._lock:
            match event.type:
                case "run_started":
                    self._start(event)
                case "step_planned":
                    self._plan(event)
                case "call_started":
                    self._call(event)
                case "call_ended":
                    self._end_call(event)
                case "finding_added":
                    self._found += 1
                    return
                case _:
                    return
            self._live.refresh()

    def progress(self, done: int, total: int | None) -> None:
        """Files that are indexed before the first step."""
        with self._lock:
            share = f" of {total:,}" if total else ""
            self._root.label = _text(f"indexing {done:,}{share} files", "dim")

    def _start(self, event: Any) -> None:
        parent = self._steps.get(event.parent_id) if event.parent_id else None
        label = _text(one_line(event.query)[:120], "bold")
        if parent is None:
            self._root.label = label
            self._runs[event.run_id] = self._root
        else:
            self._runs[event.run_id] = parent.add(label)

    def _plan(self, event: Any) -> None:
        branch = self._runs.get(event.run_id, self._root)
        thought = one_line(event.thought)[:160] or "next step"
        found = f"  ({self._found} found)" if self._found else ""
        self._steps[event.run_id] = branch.add(_text(f"{event.iteration}. {thought}{found}"))

    def _call(self, event: Any) -> None:
        shown = ", ".join(
            one_line(str(value))[:_SHOWN_CHARS]
            for value in dict(event.parameters).values()
            if value not in (None, "", [], ())
        )
        label = f"{event.tool}({shown})"
        step = self._steps.get(event.run_id, self._root)
        self._calls[event.run_id, event.iteration, event.call] = (
            step.add(_text(f"{label} ...", "dim")),
            label,
        )

    def _end_call(self, event: Any) -> None:
        known = self._calls.pop((event.run_id, event.iteration, event.call), None)
        if known is None:
            return
        branch, label = known
        how = "refused" if event.refused else "cached" if event.cached else f"{event.duration_ms:.0f} ms"
        error = f": {one_line(event.error)[:120]}" if event.error else ""
        branch.label = _text(f"{label} {how}{error}", "red" if event.error else "green")


def _text(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(visible(text), style=style)
