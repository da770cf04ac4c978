"""An answer as it comes: `/v1/ask` as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from recollect import Recollect
from recollect.domain.findings import Answer, AnswerPart

GUIDE = b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n"
QUESTION = "When does a token expire?"


def _events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream, each with its name."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_every_source_is_heard_when_it_has_answered_and_the_result_comes_last(
    http: Callable[..., httpx.Client], client: Recollect
) -> None:
    ana = http(user="ana", roles=["admin"])
    ana.post("/v1/memories", json={"text": "Our own tokens expire after an hour."})
    client.library.add(GUIDE, name="guide.md", wait=True)
    answer = ana.post("/v1/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    heard = _events(answer.text)
    parts = [AnswerPart.read(document) for name, document in heard if name == "answer_part"]
    name, document = heard[-1]
    result = Answer.read(document)
    assert name == "result"
    assert [one.source for one in parts] == list(result.sources) == ["memories", "library"]
    assert tuple(one for part in parts for one in part.citations) == result.citations
    assert all(part.text in result.text for part in parts)
    assert parts[1].first_mark == len(parts[0].citations) + 1
    # What goes on in between is told, too.
    kinds = [kind for kind, _ in heard]
    assert kinds.index("oracle_consultation_started") < kinds.index("oracle_consultation_completed")


def test_a_bad_question_is_an_error_event_with_its_status(http: Callable[..., httpx.Client]) -> None:
    asked = {"question": "x", "depth": "abyss"}
    answer = http(user="ana").post("/v1/ask", json=asked, headers={"Accept": "text/event-stream"})
    [(name, document)] = _events(answer.text)
    assert (name, document["status"], document["code"]) == ("error", 400, "invalid_input")
