"""What consultations miss: raised for gaps in documents, and grouped by meaning."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import numpy as np
from tests.library.pdf_writing import paragraph, picture, write_pdf

from recollect import EventType, Recollect, Settings
from recollect.domain.oracle import CapabilityRequest, OracleEvent
from recollect.oracle.capabilities import group_by_meaning
from recollect.providers.embedders import open_embedder
from recollect.workspace import utc_now


def request(text: str) -> CapabilityRequest:
    return CapabilityRequest(id=uuid4(), at=utc_now(), description=text, raised_by="planner")


def test_requests_of_one_meaning_are_one_group_whatever_their_words() -> None:
    texts = ["read tables", "parse a table", "scanned pages", "Read  tables", "tables of a PDF"]
    vectors = np.array([[1.0, 0.0], [0.9, 0.43], [0.0, 1.0], [1.0, 0.0], [0.96, 0.28]], dtype=np.float32)
    groups = group_by_meaning([request(text) for text in texts], vectors)
    assert [(group.description, group.count) for group in groups] == [
        ("read tables", 4),
        ("scanned pages", 1),
    ]
    assert group_by_meaning([], np.zeros((0, 2), dtype=np.float32)) == []


def test_a_page_that_could_not_be_read_raises_a_request_when_its_document_is_consulted(
    client: Recollect,
) -> None:
    data = write_pdf([paragraph(["The harbour master signs every permit on Mondays."]), picture()])
    client.library.add(data, name="harbour.pdf", wait=True)
    heard: list[OracleEvent] = []
    result = client.oracle_consult(
        "Who signs the permits?", "thorough", workflow="PROJ-1", agent="reviewer", on_event=heard.append
    )
    assert result.found
    [asked] = result.consultation.capability_requests
    assert asked["raised_by"] == "engine"
    assert asked["context"]["doc_id"] == "harbour.pdf"
    assert asked["context"]["problem"] == "Who signs the permits?"
    assert "query_subset" in asked["context"]["attempted_tools"]
    assert [one.type for one in heard].count(EventType.ORACLE_CAPABILITY_REQUESTED) == 1
    [group] = client.capabilities(days=7)
    assert group.count == 1
    assert group.documents == ("harbour.pdf",)
    assert (group.requests[0].workflow, group.requests[0].agent) == ("PROJ-1", "reviewer")
    assert utc_now() - group.requests[0].at < timedelta(days=1)


def test_a_named_document_of_pictures_only_raises_a_request_though_nothing_in_it_can_be_found(
    client: Recollect,
) -> None:
    client.library.add(write_pdf([picture(), picture()]), name="scan.pdf", wait=True)
    result = client.oracle_consult("Who signs the permits?", doc_ids=["scan.pdf"])
    assert not result.found
    [asked] = result.consultation.capability_requests
    assert (asked["raised_by"], asked["context"]["doc_id"]) == ("engine", "scan.pdf")


def test_requests_that_people_would_put_together_are_together(settings: Settings) -> None:
    texts = (
        "Parse table data from PDF documentation",
        "read tables in a PDF file",
        "extract the rows of tables from PDFs",
        "read text in scanned pages (OCR)",
        "recognise the text of an image-only page",
        "open an encrypted document",
    )
    vectors = open_embedder("minilm", cache_dir=settings.home / "models").embed(texts)
    groups = group_by_meaning([request(text) for text in texts], vectors)
    assert [group.count for group in groups] == [3, 2, 1]
