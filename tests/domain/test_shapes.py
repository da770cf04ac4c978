"""The JSON shape of every value that is stored, sent or printed, frozen: a change here is seen by users.

`shapes.json` was written by `python tests/domain/test_shapes.py`; a field that is added is added there on purpose.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from recollect.domain.codebase import ExplorationTrajectory, ExplorePlan, RLMResult, RLMUsage
from recollect.domain.findings import Answer, Citation, CitationStatus, Finding
from recollect.domain.library import Gap, PageSpan, ReadDocument, Section
from recollect.domain.oracle import (
    CapabilityRequest,
    Coverage,
    DryRun,
    EventType,
    OracleConsultation,
    OracleConsultResult,
    OracleEvent,
    Skipped,
    Verification,
)
from recollect.domain.trajectory import CallRecord, Choice, Step, Trajectory, Usage

FILE = Path(__file__).with_name("shapes.json")
ID = UUID("0192a000-0000-7000-8000-000000000001")
AT = datetime(2026, 3, 4, 5, 6, 7, 890000, tzinfo=UTC)
SECTION = Section(
    number=1,
    parent=0,
    level=2,
    heading="Scopes",
    path="Security > Scopes",
    line_start=3,
    line_end=9,
    pages=(1, 2),
)
CITATION = Citation(
    kind="document",
    file_path="manual.md",
    line_start=3,
    line_end=4,
    content_hash="abc",
    quote="Tokens expire.",
    pages=(1, 1),
    status=CitationStatus.QUOTED,
    supports=True,
)
FINDING = Finding(
    description="Tokens expire",
    evidence="Tokens expire.",
    source_file="manual.md",
    line_range=(3, 4),
    confidence=0.5,
    group="Security",
    citations=(CITATION,),
)
CHILD = Trajectory(
    id=ID,
    environment="library",
    planner="learned",
    query="inner",
    depth=1,
    started_at=AT,
    ended_at=AT,
    steps=(),
    findings=(),
    stopped_by="done",
    usage=Usage(),
)
CALL = CallRecord(
    tool="get_section",
    parameters={"name": "Scopes"},
    started_at=AT,
    duration_ms=1.5,
    result={"summary": "two lines", "spans": [[3, 4]]},
    model_call=True,
    tokens=12,
    usd=0.01,
    child=CHILD,
)
STEPS = tuple(
    Step(
        iteration=number,
        thought="look",
        tool_calls=(CALL,),
        findings=(FINDING,) * number,
        next_direction="on",
        started_at=AT,
        duration_ms=2.0,
        done=number == 2,
        planner_tokens=3,
        planner_usd=0.02,
        planner_calls=1,
        choice=Choice(
            template="search", probability=0.5, features={"bias": 1.0}, options={"stop": {"bias": 1.0}}
        ),
    )
    for number in (1, 2)
)
TRAJECTORY = Trajectory(
    id=ID,
    environment="library",
    planner="model",
    query="When do tokens expire?",
    depth=0,
    started_at=AT,
    ended_at=AT,
    steps=STEPS,
    findings=(FINDING, FINDING),
    stopped_by="done",
    usage=Usage(
        subcalls=2, cached_subcalls=1, model_calls=2, tokens=30, usd=0.05, wall_time_ms=9.0, max_depth=1
    ),
    policy="base",
    notes=("a note",),
    limits={"max_subcalls": 50, "timeout_s": None},
)
COVERAGE = Coverage(
    material_tokens=100,
    searched_tokens=100,
    read_tokens=40,
    documents=1,
    files=0,
    skipped=(Skipped(what="scan.png", reason="an image"),),
)
CONSULTATION = OracleConsultation(
    id=ID,
    timestamp=AT,
    problem="When do tokens expire?",
    advice="After an hour [1].",
    model="",
    session_id="s1",
    tokens={"total": 0},
    cost_usd=None,
    files_consulted=("a.py",),
    outcome="success",
    error_message=None,
    depth_hint="auto",
    processing_mode="rlm",
    tools_used=("get_section",),
    recursive_calls=1,
    capability_requests=({"description": "OCR"},),
    docs_consulted=("manual",),
    duration_ms=3.5,
    settings={"doc_ids": ["d1"]},
)
VALUES = {
    "answer": Answer(
        question="When?",
        text="Then [1].",
        found=True,
        citations=(CITATION,),
        coverage={"library": {"share": 0.4}},
    ),
    "section": SECTION,
    "read document": ReadDocument(
        title="Manual",
        kind="pdf",
        text="a\nb",
        sections=(SECTION,),
        pages=(PageSpan(page=1, line_start=1, line_end=2),),
        gaps=(Gap(description="an image", where="page 1", page=1, capability="OCR"),),
        notes=("cut short",),
        tokens=2,
    ),
    "citation": CITATION,
    "finding": FINDING,
    "oracle event": OracleEvent(
        type=EventType.ORACLE_RLM_TOOL_CALL,
        consultation_id=ID,
        session_id="s1",
        number=2,
        at=AT,
        detail={"a": [1]},
    ),
    "capability request": CapabilityRequest(
        id=ID, at=AT, description="OCR", raised_by="engine", context={"doc_id": "d1"}, consultation_id=ID
    ),
    "coverage": COVERAGE,
    "consultation": CONSULTATION,
    "consult result": OracleConsultResult(
        answer="After an hour [1].",
        citations=(CITATION,),
        coverage=COVERAGE,
        consultation=CONSULTATION,
        session="s1",
        stopped_by="done",
        notes=("a note",),
    ),
    "dry run": DryRun(
        problem="When?",
        depth_hint="quick",
        processing_mode="direct",
        reason="short",
        model="",
        documents=({"id": "d1"},),
        files=(),
        skipped=(Skipped(what="x", reason="y"),),
        material_tokens=1,
        max_tool_calls=2,
        max_model_calls=3,
        max_input_tokens=4,
        max_output_tokens=5,
        max_usd=None,
    ),
    "verification": Verification(citations=(CITATION,), quoted=1, moved=0, stale=0, unsupported=0),
    "trajectory": TRAJECTORY,
    "exploration result": RLMResult(
        task_id="t1",
        success=True,
        findings=(FINDING,),
        synthesis="Tokens expire [1].",
        trajectory=ExplorationTrajectory.of(TRAJECTORY),
        usage=RLMUsage(subcall_count=3, cached_subcalls=1, total_tokens=30, wall_time_seconds=0.5),
        citations=(CITATION,),
        query="When?",
        root="shop",
        notes=("a note",),
        capability_requests=({"description": "a grammar"},),
        record=TRAJECTORY,
    ),
    "exploration plan": ExplorePlan(
        query="When?",
        root="shop",
        files=3,
        material_tokens=100,
        likely_files=("a.py",),
        reasons=("it names a file",),
        model="",
        max_subcalls=50,
        max_subcalls_per_iteration=8,
        timeout_seconds=300.0,
        max_model_calls=0,
        max_input_tokens=0,
        max_output_tokens=0,
        max_tokens=0,
        max_usd=0.0,
        audit_file="t1.json",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_has_the_json_shape_that_is_frozen(name: str) -> None:
    frozen = json.loads(FILE.read_text(encoding="utf-8"))
    assert json.loads(json.dumps(VALUES[name].document())) == frozen[name]


@pytest.mark.parametrize("name", [name for name, value in VALUES.items() if hasattr(value, "read")])
def test_what_is_written_is_read_back_as_it_was(name: str) -> None:
    value = VALUES[name]
    assert type(value).read(json.loads(json.dumps(value.document()))) == value


if __name__ == "__main__":
    shapes = {name: value.document() for name, value in VALUES.items()}
    FILE.write_text(json.dumps(shapes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
