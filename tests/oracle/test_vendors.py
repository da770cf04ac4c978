"""What vendors do to a consultation on a bad day, over real HTTP: nothing is lost, costs are true, notes say it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.runs.model_server import ByRequest, ModelServer, Said

from recollect import Recollect
from recollect.domain.findings import CitationStatus

WithModel = Callable[..., Recollect]
PROBLEM = "How long until a token expires?"
LARGE = {"model_profile": {"window": 200_000, "input_usd": 1.0, "output_usd": 4.0}}
FINDING = {
    "description": "A token lives 15 minutes.",
    "quote": "Tokens expire after 15 minutes.",
    "result": "1.1",
}
SAID = {
    "sentences": [{"text": "A token lives for 15 minutes.", "quotes": ["Tokens expire after 15 minutes."]}]
}


def reads(request: dict[str, Any]) -> Said:
    """A planner that reads the document, records what it says, and goes on to something else."""
    steps: list[tuple[tuple[str, Any], ...]] = [
        (("read_document", {"doc_id": "shop.md"}),),
        (
            ("record_findings", {"findings": [FINDING]}),
            ("search_pattern", {"doc_id": "*", "regex": "minutes"}),
        ),
    ]
    return Said(calls=steps[sum("tool_calls" in one for one in request["messages"])], usage=(1_000, 100))


@pytest.mark.parametrize("fault", ["die", 503, Said(content="", refusal="I can't help with that.")])
def test_what_was_recorded_before_a_server_went_away_is_the_answer(
    library: Recollect, with_model: WithModel, chat: ModelServer, fault: Any
) -> None:
    left = iter([reads, reads])

    def answer(request: dict[str, Any]) -> Any:
        step = next(left, None)
        return fault if step is None else step(request)

    chat.answers = [ByRequest(answer), ByRequest(answer), fault]
    result = with_model(**LARGE).oracle_consult(PROBLEM, "thorough")
    assert "15 minutes" in result.answer
    assert [(one.file_path, one.line_start) for one in result.citations] == [("shop.md", 9)]
    assert all(one.status is CitationStatus.QUOTED for one in result.citations)
    assert result.consultation.cost_usd is not None
    assert result.consultation.cost_usd >= 2 * (1_000 * 1.0 + 100 * 4.0) / 1_000_000 - 1e-9
    assert result.notes


def test_reasoning_that_eats_the_cap_is_billed_said_and_costs_nobody_the_answer(
    library: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    chat.answers = [Said(content="", finish="length", usage=(900, 20_000), reasoning=20_000)]
    prices = {"input_usd": 1.0, "output_usd": 4.0}
    client = with_model(model_profile={"effort": "high", "window": 200_000, "max_output": 64_000, **prices})
    result = client.oracle_consult(PROBLEM, "quick")
    caps = [one.get("max_completion_tokens") or one.get("max_tokens") for one in chat.asked]
    assert caps[0] >= 16_384
    assert caps[1] == min(2 * caps[0], 64_000)
    assert "15 minutes" in result.answer
    assert any("was cut off at 20,000 tokens" in note for note in result.notes)
    spent = result.consultation
    assert spent.cost_usd == pytest.approx(len(chat.asked) * (900 * 1.0 + 20_000 * 4.0) / 1_000_000)
    assert spent.tokens["openai:m:reasoning"] == 20_000 * len(chat.asked)


def test_a_stream_that_never_ends_is_given_up_in_time_and_counted_as_its_worst(
    library: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    chat.answers = [Said(content=json.dumps(SAID) + " " * 50_000, trickles=True)]
    result = with_model(model_profile={**LARGE["model_profile"], "timeout_s": 1.0}).oracle_consult(
        PROBLEM, "quick"
    )
    assert "15 minutes" in result.answer
    assert any("did not answer within 1 s" in note for note in result.notes)
    # Whoever was cut off may have worked, and be paid.
    assert result.consultation.cost_usd is not None
    assert result.consultation.cost_usd > 0


def test_a_refusal_is_said_and_the_documents_answer_without_the_model(
    library: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    chat.answers = [Said(content="", refusal="I can't help with that.", finish="content_filter")]
    result = with_model(**LARGE).oracle_consult(PROBLEM, "quick")
    assert result.citations[0].line_start == 9
    assert any("without" in note for note in result.notes)
    assert result.consultation.tokens["total"] == 18 * len(chat.asked)


def test_a_server_with_tools_and_without_schemas_is_asked_by_tools(
    library: Recollect, with_model: WithModel, chat: ModelServer
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        if "response_format" in request:
            return 400
        [tool] = request["tools"]
        return Said(calls=((tool["function"]["name"], SAID),))

    chat.answers = [ByRequest(answer)]
    client = with_model(**LARGE)
    assert client.oracle_consult(PROBLEM, "quick").answer == "A token lives for 15 minutes. [1]"
    # The way that worked is kept: from then on one question is one request.
    before = len(chat.asked)
    client.oracle_consult(PROBLEM, "quick")
    assert len(chat.asked) == before + 1
