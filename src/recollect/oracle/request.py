"""What a consultation is asked with, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from recollect.domain.codec import encode_fields
from recollect.domain.ids import new_id
from recollect.domain.oracle import DEPTH_HINTS, MAX_PROBLEM_CHARS, DepthHint
from recollect.domain.text import check_name, check_text, check_whole
from recollect.errors import InvalidInputError

MAX_DOCUMENTS = 1_000
MAX_GLOBS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultRequest:
    """A checked question. `doc_ids` None means: whatever the library has about it; empty means no library at all."""

    problem: str
    depth_hint: DepthHint
    working_dir: str | None
    doc_ids: tuple[str, ...] | None
    files: tuple[str, ...] | None
    model: str | None
    max_input_tokens: int | None
    session: str
    workflow: str | None
    agent: str | None

    @classmethod
    def check(
        cls,
        *,
        problem: object,
        depth_hint: object = "auto",
        working_dir: str | PathLike[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        model: str | None = None,
        max_input_tokens: object = None,
        session: str | None = None,
        workflow: str | None = None,
        agent: str | None = None,
    ) -> ConsultRequest:
        """The request, or what is wrong with it."""
        hint = next((hint_name for hint_name in DEPTH_HINTS if hint_name == depth_hint), None)
        if hint is None:
            raise InvalidInputError(f"depth_hint {depth_hint!r} is none of {', '.join(DEPTH_HINTS)}")
        if files is not None and working_dir is None:
            raise InvalidInputError("files are globs within a working folder; give working_dir as well")
        cap = None if max_input_tokens is None else check_whole("max_input_tokens", max_input_tokens)
        return cls(
            problem=check_text(problem, what="problem", limit=MAX_PROBLEM_CHARS),
            depth_hint=hint,
            working_dir=None if working_dir is None else fspath(working_dir),
            doc_ids=_names(doc_ids, "doc_ids", MAX_DOCUMENTS),
            files=_names(files, "files", MAX_GLOBS),
            model=None if model is None else check_name(model, what="model"),
            max_input_tokens=cap,
            session=str(new_id()) if session is None else check_name(session, what="session"),
            workflow=None if workflow is None else check_name(workflow, what="workflow"),
            agent=None if agent is None else check_name(agent, what="agent"),
        )

    def settings(self) -> dict[str, Any]:
        """What it takes to ask the same again, as JSON: `check` takes it."""
        return encode_fields(self, without={"problem", "session", "workflow", "agent"})


def _names(values: Sequence[str] | None, what: str, limit: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise InvalidInputError(f"{what} must be a list, not the string {values!r}; write [{values!r}]")
    if len(values) > limit:
        raise InvalidInputError(f"{len(values)} {what}, the limit is {limit}")
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise InvalidInputError(f"{what} holds {value!r}, which is no name")
    return tuple(dict.fromkeys(value.strip() for value in values))
