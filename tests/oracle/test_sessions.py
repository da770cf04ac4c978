"""What a follow-up reuses, in the same process and in another one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from tests.oracle.small_library import BREAD, put_document
from tests.runs.model_server import ModelServer

from recollect import Recollect

PROBLEM = "How long does rye bread rest?"
PLAN = {
    "thought": "ask the section",
    "calls": [
        {
            "tool": "query_subset",
            "parameters": {"content": "bread.md#Rye bread", "question": "how long does it rest?"},
        }
    ],
    "findings": [],
    "done": False,
}
END = {"thought": "enough", "calls": [], "findings": [], "done": True}
READ = {"answer": "Twelve hours.", "quotes": ["Rye bread rests for twelve hours"]}
SAID = {"blocks": [{"text": "Twelve hours.", "sources": [1]}]}


def consult(client: Recollect, chat: ModelServer, *answers: object, session: str | None = "s") -> int:
    """How many requests a consultation takes."""
    before = len(chat.asked)
    chat.answers = list(answers)
    result = client.oracle_consult(PROBLEM, "thorough", doc_ids=["bread.md"], session=session)
    assert result.answer == "Twelve hours. [1]"
    assert result.coverage.read_tokens > 0
    return len(chat.asked) - before


def test_what_a_model_answered_is_not_asked_again_in_another_process(
    library: Recollect, with_model: Callable[..., Recollect], chat: ModelServer
) -> None:
    assert consult(with_model(), chat, PLAN, READ, END, SAID) == 4
    # Every client has a workspace of its own, so nothing in memory is shared.
    assert consult(with_model(), chat, PLAN, END, SAID) == 3
    assert consult(with_model(), chat, PLAN, READ, END, SAID, session="another") == 4
    assert all("answers" not in one.document() for one in library.consultations.list())


def test_an_ended_session_begins_anew_in_every_process(
    library: Recollect, with_model: Callable[..., Recollect], chat: ModelServer
) -> None:
    one = with_model()
    assert consult(one, chat, PLAN, READ, END, SAID) == 4
    assert consult(one, chat, PLAN, END, SAID) == 3
    one.consultations.end_session("s")
    assert consult(one, chat, PLAN, READ, END, SAID) == 4
    one.consultations.end_session("s")
    assert consult(with_model(), chat, PLAN, READ, END, SAID) == 4
    # What was read since then is there again, and another session never ended.
    assert consult(with_model(), chat, PLAN, END, SAID) == 3


def test_a_session_of_the_day_before_yesterday_begins_anew(
    library: Recollect, with_model: Callable[..., Recollect], chat: ModelServer
) -> None:
    one = with_model()
    assert consult(one, chat, PLAN, READ, END, SAID) == 4
    workspace = one._portal.run(one._async._workspace())
    now = workspace.clock()
    workspace.clock = lambda: now + timedelta(days=2)
    assert consult(one, chat, PLAN, READ, END, SAID) == 4


def test_a_document_that_changed_is_asked_about_again(
    library: Recollect, with_model: Callable[..., Recollect], chat: ModelServer
) -> None:
    assert consult(with_model(), chat, PLAN, READ, END, SAID) == 4
    put_document(library, "bread.md", BREAD + "\nMore about ovens.\n")
    assert consult(with_model(), chat, PLAN, READ, END, SAID) == 4


def test_a_call_that_no_model_answered_is_asked_again(
    library: Recollect, with_model: Callable[..., Recollect], chat: ModelServer
) -> None:
    chat.answers = [PLAN, 500, END, SAID]
    one = with_model()
    one.oracle_consult(PROBLEM, "thorough", doc_ids=["bread.md"], session="s")
    assert consult(with_model(), chat, PLAN, READ, END, SAID) == 4
    # Nor is the failure remembered by the process that met it, which had no other answer to go by.
    chat.answers = [PLAN, 500, END, SAID]
    one.oracle_consult(PROBLEM, "thorough", doc_ids=["bread.md"], session="t")
    assert consult(one, chat, PLAN, READ, END, SAID, session="t") == 4
