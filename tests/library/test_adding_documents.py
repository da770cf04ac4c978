"""Documents into the library: what is kept, what is embedded again, and what bad input does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.library.office_writing import docx_parts, write_zip

from recollect import Recollect
from recollect.domain.library import DocumentReport
from recollect.errors import (
    DocumentError,
    DocumentNotFoundError,
    DocumentTooLargeError,
    ForbiddenError,
    InvalidInputError,
    ScopeNotFoundError,
)

GUIDE = """# Guide

Welcome to the service.

## Tokens

Access tokens expire after thirty minutes.

## Scopes

A scope limits what a token may do.
"""


def add(client: Recollect, text: str, **more: object) -> DocumentReport:
    return client.library.add(text.encode(), name="guide.md", **more)  # type: ignore[arg-type]


def test_an_added_document_is_kept_whole_and_found_by_section(client: Recollect) -> None:
    report = add(client, GUIDE, id="guide", tags=["api", "auth", "api"])
    assert (report.outcome, report.kept) == ("added", 0)
    document = client.library.get("guide")
    assert document == report.document
    assert (document.title, document.kind, document.state, document.scope) == (
        "Guide",
        "markdown",
        "ready",
        "user/root",
    )
    assert document.tags == ("api", "auth")
    assert client.library.text("guide") == GUIDE.rstrip("\n")
    assert client.library.text("guide", line_start=5, line_end=7) == (
        "## Tokens\n\nAccess tokens expire after thirty minutes."
    )
    assert [one.path for one in client.library.sections("guide")] == [
        "Guide",
        "Guide > Tokens",
        "Guide > Scopes",
    ]
    best = client.library.search("when does a token expire?")[0]
    assert (best.document, best.path, best.lines) == ("guide", "Guide > Tokens", (7, 7))
    assert best.quote == "Access tokens expire after thirty minutes."
    assert 0 < best.score <= 1


def test_an_unchanged_document_is_left_alone(client: Recollect) -> None:
    before = add(client, GUIDE).document
    again = add(client, GUIDE)
    assert (again.outcome, again.embedded) == ("unchanged", 0)
    assert again.document == before


def test_new_tags_of_an_unchanged_document_are_kept(client: Recollect) -> None:
    add(client, GUIDE, tags=["old"])
    report = add(client, GUIDE, tags=["new"])
    assert (report.outcome, report.document.tags) == ("unchanged", ("new",))
    assert add(client, GUIDE).document.tags == ("new",)


def test_a_changed_document_embeds_only_the_sections_that_changed(client: Recollect) -> None:
    first = add(client, GUIDE)
    assert first.embedded == 3
    # A section before the others moves their lines and numbers, not their passages.
    changed = GUIDE.replace("## Tokens", "## Keys\n\nKeys are rotated weekly.\n\n## Tokens").replace(
        "may do", "is allowed to do"
    )
    report = add(client, changed)
    assert (report.outcome, report.embedded, report.kept) == ("updated", 2, 2)
    assert report.document.id == first.document.id
    assert client.library.text("guide.md") == changed.rstrip("\n")
    hit = client.library.search("when does a token expire?")[0]
    assert (hit.path, hit.lines) == ("Guide > Tokens", (11, 11))
    assert client.library.search("weekly rotation of keys")[0].path == "Guide > Keys"
    assert (
        client.library.search("what a scope limits")[0].quote
        == "A scope limits what a token is allowed to do."
    )


def test_a_section_that_was_taken_out_is_no_longer_found(client: Recollect) -> None:
    add(client, GUIDE)
    before, _, behind = GUIDE.partition("## Tokens")
    report = add(client, before + behind[behind.index("## Scopes") :])
    assert (report.embedded, report.kept, report.document.sections) == (0, 2, 2)
    assert all("minutes" not in hit.quote for hit in client.library.search("when does a token expire?"))


def test_two_sections_with_the_same_words_are_two(client: Recollect) -> None:
    twice = "# A\n\n## Note\n\nMind the gap.\n\n# B\n\n## Note\n\nMind the gap.\n"
    assert add(client, twice).document.sections == 4
    assert add(client, twice + "\nMore.\n").kept == 3


def test_another_title_is_a_change(client: Recollect) -> None:
    add(client, GUIDE)
    report = add(client, GUIDE, title="Handbook")
    assert (report.outcome, report.document.title) == ("updated", "Handbook")
    assert add(client, GUIDE).outcome == "unchanged"


def test_a_very_long_section_is_indexed_in_batches_and_found_at_its_end(client: Recollect) -> None:
    words = "\n\n".join(
        f"Paragraph {n} speaks about pump {n} in hall {n % 7} at length. " * 6 for n in range(400)
    )
    report = add(client, f"# Pumps\n\n{words}\n\nThe zebra crossing is closed on Sundays.\n")
    assert report.document.sections == 1
    assert report.embedded > 256
    [best, *_] = client.library.search("is the zebra crossing open on Sunday?", limit=1)
    assert best.quote.endswith("The zebra crossing is closed on Sundays.")


def test_progress_counts_sections(client: Recollect) -> None:
    seen: list[tuple[int, int | None]] = []
    add(client, GUIDE, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


def test_an_empty_file_is_a_document_without_text(client: Recollect) -> None:
    report = client.library.add(b"", name="empty.txt")
    assert (report.document.state, report.embedded) == ("ready", 0)
    assert "the file holds no text" in report.document.notes
    assert client.library.text("empty.txt") == ""


def _bomb() -> bytes:
    return write_zip({**docx_parts([("", "hello")]), "word/media/zeros": bytes(20_000_000)})


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"id": " "}, "id is empty"),
        ({"id": "a\nb"}, "control characters"),
        ({"tags": "api"}, "tags must be a list"),
        ({"tags": [""]}, "tag is empty"),
        ({"layer": "planet"}, "unknown layer 'planet'"),
        ({"title": "x" * 201}, "title has 201 characters"),
        ({"kind": "telepathy"}, "telepathy"),
    ],
)
def test_a_bad_argument_is_refused_and_nothing_is_kept(
    given: dict[str, object], error: str, client: Recollect
) -> None:
    with pytest.raises(InvalidInputError, match=error):
        add(client, GUIDE, **given)
    assert client.library.list() == []


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("cut.pdf", b"%PDF-1.7 broken", "invalid_document"),
        ("bomb.docx", _bomb, "document_too_large"),
        ("notes.xlsx", b"PK\x03\x04 and nothing behind it", "document_unsupported"),
        ("program.txt", b"\x7fELF\x02\x01\x01" + bytes(64), "document_unsupported"),
    ],
)
def test_a_file_that_can_not_be_read_is_an_error_with_its_name_and_nothing_is_kept(
    name: str, data: bytes | Callable[[], bytes], code: str, client: Recollect
) -> None:
    with pytest.raises(DocumentError, match=name) as caught:
        client.library.add(data() if callable(data) else data, name=name)
    assert caught.value.code == code
    assert client.library.list() == []


def test_bytes_need_a_name_and_a_missing_file_is_named(client: Recollect, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="bytes need a file name"):
        client.library.add(b"x")
    with pytest.raises(InvalidInputError, match="no such file"):
        client.library.add(tmp_path / "nothing.md")
    with pytest.raises(InvalidInputError, match="it is a folder; add it with add_folder"):
        client.library.add(tmp_path)


def test_a_file_beyond_the_limit_is_refused(store: Recollect, tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    with file.open("wb") as sparse:
        sparse.truncate(100_000_001)
    with pytest.raises(DocumentTooLargeError, match="the limit is 100,000,000"):
        store.library.add(file)


def test_an_unknown_scope_is_named(client: Recollect) -> None:
    with pytest.raises(ScopeNotFoundError, match="team/nobody"):
        add(client, GUIDE, scope="team/nobody")


def test_a_failed_update_leaves_the_document_as_it_was(client: Recollect) -> None:
    add(client, GUIDE)
    with pytest.raises(InvalidInputError):
        client.library.add(b"%PDF-1.7 broken", name="guide.pdf", id="guide.md")
    assert client.library.text("guide.md") == GUIDE.rstrip("\n")


def test_a_document_is_private_until_it_is_in_a_shared_scope(as_user: Callable[..., Recollect]) -> None:
    root, ana, bob = as_user("root", roles=("admin",)), as_user("ana"), as_user("bob")
    root.scopes.create("team/api")
    root.members.add("ana", "team/api")
    root.members.add("bob", "team/api")
    ana.library.add(GUIDE.encode(), name="own.md")
    ana.library.add(GUIDE.encode(), name="shared.md", scope="team/api")
    assert [one.name for one in ana.library.list()] == ["own.md", "shared.md"]
    assert [one.name for one in bob.library.list()] == ["shared.md"]
    assert {hit.document for hit in bob.library.search("when does a token expire?")} == {"shared.md"}
    for attempt in (
        lambda: bob.library.get("own.md"),
        lambda: bob.library.text("own.md"),
        lambda: bob.library.sections("own.md"),
        lambda: bob.library.remove("own.md"),
        lambda: bob.library.search("tokens", documents=["own.md"]),
    ):
        with pytest.raises(DocumentNotFoundError):
            attempt()
    own = ana.library.get("own.md").id
    with pytest.raises(DocumentNotFoundError):
        bob.library.get(own)


def test_whoever_may_only_read_a_document_can_not_change_or_remove_it(
    as_user: Callable[..., Recollect], tenant_id: str
) -> None:
    root, ana = as_user("root", roles=("admin",)), as_user("ana")
    root.scopes.create("team/api")
    root.members.add("ana", "team/api")
    company = f"company/{tenant_id}"
    root.library.add(GUIDE.encode(), name="rules.md", scope=company)
    assert ana.library.get("rules.md").scope == company
    with pytest.raises(ForbiddenError, match="may be read but not removed"):
        ana.library.remove("rules.md")
    with pytest.raises(ForbiddenError):
        ana.library.add(b"# Other", name="rules.md", scope=company)
    assert root.library.text("rules.md") == GUIDE.rstrip("\n")


def test_another_tenant_sees_nothing_of_it(client: Recollect, store: Recollect) -> None:
    from recollect import TenantContext

    add(client, GUIDE)
    store.tenants.create("t-strangers")
    stranger = store.for_context(TenantContext(tenant_id="t-strangers", user_id="root", roles=("admin",)))
    assert stranger.library.list() == []
    assert list(stranger.library.search("when does a token expire?")) == []
    with pytest.raises(DocumentNotFoundError, match="the library has none yet"):
        stranger.library.get("guide.md")


def test_of_one_name_the_nearest_layer_is_meant_and_the_other_is_cited_by_id(
    as_user: Callable[..., Recollect],
) -> None:
    root = as_user("root", roles=("admin",))
    root.scopes.create("team/api")
    team = root.library.add(GUIDE.encode(), name="guide.md", scope="team/api").document
    own = root.library.add(GUIDE.replace("thirty", "ninety").encode(), name="guide.md").document
    assert root.library.get("guide.md") == own
    assert root.library.get("guide.md", scope="team/api") == team
    cited = {hit.citation.file_path for hit in root.library.search("when does a token expire?", limit=2)}
    assert cited == {"guide.md", str(team.id)}
