"""What the judge is told of a memory: who says it, seen from the asker, when, and what was said before."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.domain.layers import Layer
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.judge.statements import is_asker, is_private_to_another, statement_of

RUTH = TenantContext(tenant_id="t", user_id="ruth")


def memory(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "text": text,
        "layer": Layer.TEAM.precedence,
        "scope_name": "home",
        "speaker": None,
        "event_at": datetime(2026, 8, 25, tzinfo=UTC),
        "created_at": datetime(2026, 8, 25, tzinfo=UTC),
        "before_text": None,
        "before_speaker": None,
        "entities": [],
        "mentions": [],
    } | fields


def test_the_asker_is_i_and_others_have_names() -> None:
    turn = memory("I take a 6", speaker="Ruth", before_text="which size?", before_speaker="Desmond")
    assert (
        statement_of("which size?", turn, RUTH, {})
        == "I, Aug 2026: I take a 6 (before: Desmond: which size?)"
    )
    assert (
        statement_of("which size?", memory("size 11", speaker="Desmond"), RUTH, {})
        == "Desmond, Aug 2026: size 11"
    )


def test_a_note_of_ones_own_is_said_by_oneself_and_a_team_s_by_nobody() -> None:
    own = memory("allergic to penicillin", layer=Layer.USER.precedence, scope_name="ruth")
    assert statement_of("any allergies?", own, RUTH, {}) == "I, Aug 2026: allergic to penicillin"
    assert statement_of("which size?", memory("bins on Monday"), RUTH, {}) == "Aug 2026: bins on Monday"


@pytest.mark.parametrize(
    ("name", "user", "same"),
    [
        ("Ruth", "ruth", True),
        ("Ines", "ines.b@studio.example", True),
        ("Ines Bauer", "ines_bauer", True),
        ("Graça", "graca", True),
        ("Jose", "josé.a", True),
        ("Al", "alma", False),
        ("Tom", "ruth", False),
        ("Ruth", None, False),
    ],
)
def test_speakers_and_user_ids_are_matched_as_people_would(name: str, user: str | None, same: bool) -> None:
    assert is_asker(name, user) is same


def test_another_user_s_own_memory_is_private_to_them() -> None:
    assert is_private_to_another(memory("x", layer=Layer.USER.precedence, scope_name="desmond"), RUTH)
    assert not is_private_to_another(memory("x", layer=Layer.USER.precedence, scope_name="ruth"), RUTH)
    assert not is_private_to_another(memory("x"), RUTH)


def test_long_texts_are_cut_where_the_judge_stops_reading() -> None:
    assert len(statement_of("which size?", memory("word " * 10_000), RUTH, {})) < 400


def test_of_a_long_text_the_judge_is_told_what_has_the_words_of_the_question() -> None:
    text = (
        "Minutes of the spring meeting in the old mill. " + "We spoke about the roof and the gutters. " * 12
    )
    text += "Ottilie keeps the spare key in the blue teapot. " + "Then there was cake for everybody. " * 9
    told = statement_of("Where is the spare key?", memory(text), RUTH, {})
    assert "blue teapot" in told
    assert told.startswith("Aug 2026: Minutes of the spring meeting")
    assert len(told) < 400
    assert "blue teapot" not in statement_of("When was the roof discussed?", memory(text), RUTH, {})
