"""Whether a history of operations on memories can have happened one after the other, as Jepsen's checkers ask.

Every memory is a register: text and whether it is retired, or nothing. Its operations overlap; each must seem to happen
at one moment between its beginning and its end, so that whatever was acknowledged before another began is seen by it.
What was never answered may have happened at any later moment, or not at all. The search is that of Wing and Gong, with
states it has seen left out (Lowe).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

#: Text and whether it is retired; None: there is no such memory.
State = tuple[str, bool] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call about one memory, and what came of it.

    `outcome`: "ok", "absent" (there is no such memory), "refused" (it is not in the state for it), "unknown" (nobody
    answered, or an error that leaves it open).
    """

    client: str
    kind: str
    memory: str
    begun: float
    ended: float = inf
    outcome: str = "unknown"
    text: str = ""
    retired: bool = False


READS = {"get", "search"}


def outcomes(operation: Operation, state: State) -> Iterable[State]:
    """The states an operation may lead to from a state; none when it can't have happened there."""
    if operation.outcome == "absent":
        return [state] if state is None else []
    if operation.kind == "add":
        return [(operation.text, False)] if state is None else []
    if operation.kind == "search":
        # Only what is believed is found.
        found = state is not None and not state[1]
        return (
            [state]
            if found == bool(operation.text) and (not found or state == (operation.text, False))
            else []
        )
    if state is None:
        return []
    if operation.kind == "get":
        return [state] if state == (operation.text, operation.retired) else []
    if operation.kind == "restore":
        allowed = state[1] == (operation.outcome != "refused")
        return [(state[0], False)] if allowed else []
    if operation.kind == "delete":
        return [None]
    return [(operation.text, state[1]) if operation.kind == "update" else (state[0], True)]


def is_linear(operations: Sequence[Operation]) -> bool:
    """Whether one memory's operations can have happened one after the other."""
    todo = sorted(
        (one for one in operations if not (one.kind in READS and one.outcome == "unknown")),
        key=lambda one: one.begun,
    )
    needed = sum(1 << n for n, one in enumerate(todo) if one.outcome != "unknown")
    seen: set[tuple[int, State]] = set()
    stack: list[tuple[int, State]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if done & needed == needed:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        left = [(n, one) for n, one in enumerate(todo) if not done >> n & 1]
        first_end = min(one.ended for _, one in left)
        for n, one in left:
            if one.begun > first_end:
                break
            stack += [(done | 1 << n, after) for after in outcomes(one, state)]
    return False


def check(operations: Iterable[Operation]) -> list[str]:
    """What can't have happened, a line for each memory: the first operation that contradicts those before it."""
    by_memory: Mapping[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_memory[operation.memory].append(operation)
    wrong = []
    for memory, ones in by_memory.items():
        if is_linear(ones):
            continue
        known = sorted((one for one in ones if one.outcome != "unknown"), key=lambda one: one.ended)
        for count, last in enumerate(known, 1):
            before = known[:count]
            # What has no end yet at this moment may have happened.
            open_ended = [
                replace(one, outcome="unknown", ended=inf)
                for one in ones
                if one.begun < last.ended < one.ended or one.outcome == "unknown"
            ]
            if not is_linear(before + open_ended):
                lately = "; ".join(map(_told, before[-6:-1]))
                wrong.append(f"memory {memory}: {_told(last)} after {lately or 'nothing'}")
                break
    return wrong


def _told(one: Operation) -> str:
    retired = ", retired" if one.retired else ""
    return f"{one.client} {one.kind} {one.outcome} ({one.text or 'nothing'}{retired})"
