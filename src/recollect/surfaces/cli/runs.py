"""What asking, consulting and exploring print: steps while they go on, the answer, and what a run would take.

Steps are a tree on standard error, so that a pipe gets the answer and nothing else; nobody watching, nothing drawn. It
is drawn from the engine's events (runs/events.py) or from what a consultation tells, and knows no material.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.surfaces.cli.output import Output, one_line, visible

if TYPE_CHECKING:
    from rich.live import Live
    from rich.tree import Tree

    from recollect.domain.findings import Citation
    from recollect.domain.trajectory import RunPlan

Watchers = tuple[Callable[[Any], None] | None, Callable[[int, int | None], None] | None]
#: Of a parameter in a line.
_SHOWN_CHARS = 60
#: Lines of code shown for one citation, and how many citations have some.
_SHOWN_LINES = 8
_WITH_CODE = 6


def call_line(
    tool: object, parameters: Mapping[str, Any], *, ms: float = 0.0, cached: bool = False, refused: bool = False,
    summary: str | None = None,
) -> str:  # fmt: skip
    """One call: its tool, what it was called with, how it went and what came of it."""
    values = ", ".join(
        one_line(str(value))[:_SHOWN_CHARS]
        for value in parameters.values()
        if value not in (None, "", [], ())
    )
    how = "refused" if refused else "cached" if cached else f"{ms:.0f} ms"
    return f"{tool}({values}) {how}" + (f": {one_line(summary)[:120]}" if summary else "")


# ---------------------------------------------------------------- while it goes on


@contextmanager
def watch_steps(out: Output, doing: str) -> Iterator[Watchers]:
    """What to give a run as `on_event` and `progress`; both None when there is no terminal to draw on."""
    if out.as_json or not sys.stderr.isatty():
        yield None, None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.tree import Tree

    root = Tree(_text(doing, "bold"))
    with Live(root, console=Console(stderr=True), refresh_per_second=8, transient=True) as live:
        tree = StepTree(root, live)
        yield tree.hear, tree.progress


class StepTree:
    """Draws events. The engine tells from its own thread, so one lock is around all of it."""

    def __init__(self, root: Tree, live: Live) -> None:
        self._root = root
        self._live = live
        self._lock = threading.Lock()
        #: The branch of each run, and of its newest step.
        self._runs: dict[UUID | None, Tree] = {None: root}
        self._steps: dict[UUID | None, Tree] = {}
        self._found = 0

    def hear(self, event: Any) -> None:
        """Draw what happened."""
        with self._lock:
            detail, run = getattr(event, "detail", {}), getattr(event, "run_id", None)
            match str(getattr(event, "type", "")):
                case "run_started":
                    self._start(event)
                case "step_planned":
                    self._plan(run, f"{event.iteration}. {event.thought or 'next step'}")
                case "oracle_consultation_thinking":
                    number = f"{detail['step']}. " if "step" in detail else ""
                    self._plan(run, f"{number}{detail.get('thought', '')}")
                case "call_ended":
                    self._call(run, event.tool, event.parameters, event)
                case "oracle_rlm_tool_call":
                    self._call(run, detail.get("tool"), detail.get("parameters") or {}, detail)
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

    def _plan(self, run: UUID | None, thought: str) -> None:
        count = f"  ({self._found} found)" if self._found else ""
        branch = self._runs.get(run, self._root)
        self._steps[run] = branch.add(_text(f"{one_line(thought)[:160]}{count}"))

    def _call(self, run: UUID | None, tool: object, parameters: Mapping[str, Any], how: Any) -> None:
        def of(name: str) -> Any:
            return how.get(name) if isinstance(how, Mapping) else getattr(how, name, None)

        error = of("error")
        line = call_line(
            tool, parameters, ms=of("duration_ms") or 0.0, cached=bool(of("cached")), refused=bool(of("refused")),
            summary=error,
        )  # fmt: skip
        self._steps.get(run, self._root).add(_text(line, "red" if error else "green"))


def _text(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(visible(text), style=style)


# ---------------------------------------------------------------- when it is over


def show_answer(
    out: Output,
    text: str,
    citations: Sequence[Citation],
    notes: Sequence[str],
    *,
    found: bool,
    summary: str = "",
    code: Mapping[Citation, str] | None = None,
) -> None:
    """An answer in words, what its marks stand for (with the lines, where there is `code`), and what to know of it."""
    for line in text.splitlines():
        heading = code is not None and line.endswith(":") and not line.startswith("- ")
        out.line(line, style="bold" if heading else "" if found else "yellow")
    if citations and out.on_terminal:
        out.line("")
    for number, citation in enumerate(citations, 1):
        out.line(f"[{number}] {citation.place} {citation.standing}", style="dim" if code is None else "cyan")
        if code is not None and out.on_terminal and number <= _WITH_CODE:
            _show_code(out, citation.line_start, code.get(citation, citation.quote))
    show_notes(out, notes)
    if summary:
        out.aside(summary)


def _show_code(out: Output, first: int, text: str) -> None:
    lines = text.split("\n")
    width = len(str(first + len(lines)))
    for number, line in enumerate(lines[:_SHOWN_LINES], first):
        out.line(f"    {number:>{width}} {line[:200]}", style="dim")
    if len(lines) > _SHOWN_LINES:
        out.line(f"    {'':>{width}} ... {len(lines) - _SHOWN_LINES} more lines", style="dim")


def show_plan(out: Output, plan: RunPlan, pairs: Sequence[tuple[str, object]]) -> None:
    """What a run would do at most: what is its own in `pairs`, then its model, its cost and its notes."""
    out.result(plan)
    out.pairs([*pairs, ("model", plan.model or "none"), ("takes", at_most(plan))])
    show_notes(out, plan.notes)


def at_most(plan: RunPlan) -> str:
    """What a run may take of its model."""
    cost = "at an unknown cost" if plan.max_usd is None else f"{plan.max_usd:.4f} USD"
    return (
        f"at most {plan.max_model_calls} model calls, {plan.max_input_tokens:,} tokens to the model and "
        f"{plan.max_output_tokens:,} from it, {cost}"
    )


def show_notes(out: Output, notes: Sequence[str]) -> None:
    """What a reader should know."""
    for note in notes:
        out.aside(f"note: {note}", style="yellow")
