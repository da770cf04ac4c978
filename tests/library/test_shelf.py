"""Getting documents out again: by name, by lines, as sources of citations; and out of the library for good."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from recollect import Recollect
from recollect.domain.findings import Citation, CitationStatus
from recollect.errors import DocumentNotFoundError, InvalidInputError
from recollect.library.shelf import suggest

LIBRARY_TABLES = ("document", "section", "passage", "passage_posting")


def rows_of(conninfo: str, tenant: str) -> dict[str, int]:
    with psycopg.connect(conninfo) as connection:
        return {
            table: connection.execute(
                f"select count(*) from recollect.{table} where tenant_id = %s", [tenant]
            ).fetchone()[0]  # type: ignore[index]
            for table in LIBRARY_TABLES
        }


def test_an_unknown_document_is_an_error_with_close_names(client: Recollect) -> None:
    client.library.add(b"# FastAPI\n\nRoutes.", name="fastapi-docs.md", id="fastapi-docs")
    with pytest.raises(DocumentNotFoundError, match="did you mean 'fastapi-docs'"):
        client.library.get("fastapi-doc")
    with pytest.raises(DocumentNotFoundError, match="recollect library list"):
        client.library.get("zzzzzz")
    with pytest.raises(DocumentNotFoundError, match="did you mean 'fastapi-docs'"):
        client.library.search("routes", documents=["FastAPI"])


def test_suggestions_look_at_last_parts_and_titles() -> None:
    known = {"docs/guide/start.md": "Getting started", "docs/api.md": "The API"}
    assert suggest("start.md", known)[0] == "docs/guide/start.md"
    assert suggest("geting started", known) == ["docs/guide/start.md"]
    assert suggest("quantum", known) == []


def test_lines_beyond_the_end_are_left_out_and_a_range_that_makes_no_sense_is_refused(
    client: Recollect,
) -> None:
    client.library.add(b"one\ntwo\nthree", name="a.txt")
    assert client.library.text("a.txt", line_start=2, line_end=99) == "two\nthree"
    assert client.library.text("a.txt", line_end=1) == "one"
    with pytest.raises(InvalidInputError, match="make no sense"):
        client.library.text("a.txt", line_start=0, line_end=2)
    with pytest.raises(InvalidInputError, match="make no sense"):
        client.library.text("a.txt", line_start=3, line_end=2)


def test_documents_are_listed_by_tag_and_page_by_page(client: Recollect) -> None:
    for number in range(5):
        client.library.add(b"text", name=f"{number}.txt", tags=["even"] if number % 2 == 0 else ["odd", "x"])
    assert [one.name for one in client.library.list(tags=["even"])] == ["0.txt", "2.txt", "4.txt"]
    assert [one.name for one in client.library.list(tags=["odd", "x"])] == ["1.txt", "3.txt"]
    assert [one.name for one in client.library.list(limit=2, after="1.txt")] == ["2.txt", "3.txt"]
    with pytest.raises(InvalidInputError, match="limit 0"):
        client.library.list(limit=0)


def test_a_citation_of_a_hit_verifies_until_the_document_changes(client: Recollect) -> None:
    text = "# Limits\n\nThe limit is 40 requests.\n\n# Fees\n\nFees are due monthly.\n"
    client.library.add(text.encode(), name="limits.md")
    citation = client.library.search("how many requests are allowed?")[0].citation

    def status(cited: Citation) -> CitationStatus:
        [checked] = client.verify({"citations": [cited.document()]}).citations
        return checked.status

    assert status(citation) is CitationStatus.QUOTED
    client.library.add(f"New first line.\n\n{text}".encode(), name="limits.md")
    assert status(citation) is CitationStatus.MOVED
    client.library.add(text.replace("40", "50").encode(), name="limits.md")
    assert status(citation) is CitationStatus.STALE
    client.library.remove("limits.md")
    assert status(citation) is CitationStatus.UNSUPPORTED


def test_removing_a_document_leaves_nothing_and_gives_a_receipt(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    client.library.add(b"# Secret\n\nThe vault code is 4711.", name="secret.md")
    client.library.add(b"# Other\n\nStays.", name="other.md")
    before = rows_of(owner_conninfo, tenant_id)
    receipt = client.library.remove("secret.md")
    assert receipt.what.startswith("document secret.md (")
    assert receipt.vacuum == "rewritten"
    after = rows_of(owner_conninfo, tenant_id)
    assert {table: before[table] - after[table] for table in LIBRARY_TABLES} == dict(receipt.rows)
    assert [one.name for one in client.library.list()] == ["other.md"]
    assert all("4711" not in hit.quote for hit in client.library.search("vault code"))
    with pytest.raises(DocumentNotFoundError):
        client.library.remove("secret.md")


def test_a_users_documents_go_with_the_user_and_their_name_goes_from_others(
    as_user: Callable[..., Recollect], owner_conninfo: str, tenant_id: str
) -> None:
    root, ana = as_user("root", roles=("admin",)), as_user("ana")
    root.scopes.create("team/api")
    root.members.add("ana", "team/api")
    ana.library.add(b"# Mine\n\nPrivate.", name="mine.md")
    ana.library.add(b"# Ours\n\nShared.", name="ours.md", scope="team/api")
    receipt = root.forget_user("ana")
    assert receipt.rows["document"] == 1
    assert receipt.rows["passage"] == 1
    [left] = root.library.list()
    assert (left.name, left.by) == ("ours.md", None)


def test_a_scopes_documents_go_with_the_scope(client: Recollect, owner_conninfo: str, tenant_id: str) -> None:
    client.scopes.create("team/api")
    client.library.add(b"# Ours\n\nShared.", name="ours.md", scope="team/api")
    receipt = client.scopes.delete("team/api")
    assert receipt.rows["document"] == 1
    assert set(rows_of(owner_conninfo, tenant_id).values()) == {0}


def test_a_tenants_documents_go_with_the_tenant(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    client.library.add(b"# Ours\n\nShared.", name="ours.md")
    receipt = client.tenants.forget(tenant_id)
    assert receipt.rows["document"] == 1
    assert set(rows_of(owner_conninfo, tenant_id).values()) == {0}


def test_searching_can_be_narrowed_to_documents_and_tags(client: Recollect) -> None:
    client.library.add(b"# A\n\nTokens expire after an hour.", name="a.md", tags=["x"])
    client.library.add(b"# B\n\nTokens expire after a day.", name="b.md", tags=["y"])

    def found(**more: object) -> set[str]:
        return {hit.document for hit in client.library.search("token expiry", **more)}  # type: ignore[arg-type]

    assert found() == {"a.md", "b.md"}
    assert found(documents=["b.md"]) == {"b.md"}
    assert found(tags=["x"]) == {"a.md"}
    assert found(tags=["z"]) == set()
    assert found(documents=["b.md"], tags=["x"]) == set()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"query": " "}, "query is empty"),
        ({"limit": 0}, "limit 0"),
        ({"tags": "x"}, "tags must be a list"),
        ({"documents": "a.md"}, "documents must be a list"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    given: dict[str, object], error: str, client: Recollect
) -> None:
    client.library.add(b"text", name="a.md")
    with pytest.raises(InvalidInputError, match=error):
        client.library.search(**{"query": "text", **given})  # type: ignore[arg-type]


def test_a_search_says_whether_the_documents_answer(client: Recollect) -> None:
    text = "# Tokens\n\nAccess tokens expire after thirty minutes.\n\n# Colours\n\nThe logo is blue.\n"
    client.library.add(text.encode(), name="tokens.md")
    found = client.library.search("After how many minutes do access tokens expire?")
    assert found.answered
    assert found[0].path == "Tokens"
    assert found[0].score >= 0.5
    assert [hit.path for hit in found if hit.score < 0.5] == ["Colours"]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    missed = client.library.search("How does MongoDB shard a Cassandra cluster on Kubernetes?")
    assert not missed.answered
    assert all(hit.score < 0.5 for hit in missed)
    assert not client.library.search("tokens", tags=["none"]).answered
