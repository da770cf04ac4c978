"""Markdown: where sections start, and where something only looks like a heading."""

from __future__ import annotations

import pytest

from recollect.library.reading import read_document

GUIDE = b"""---
title: "The Guide"
tags: [a]
---

Before any heading.

# Security

Some words.

## OAuth2 ##

```python
# not a heading
```

### Scopes

They limit.

Signing
=======

Keys
in use
------

The end.
"""


def headings(text: str) -> list[tuple[int, str]]:
    return [
        (section.level, section.heading) for section in read_document(text.encode(), name="a.md").sections
    ]


def test_sections_form_a_tree_with_paths_and_the_lines_of_their_own_text() -> None:
    guide = read_document(GUIDE, name="guide.md")
    assert guide.kind == "markdown"
    assert guide.title == "The Guide"
    assert [(one.number, one.parent, one.path) for one in guide.sections] == [
        (0, None, "The Guide"),
        (1, None, "Security"),
        (2, 1, "Security > OAuth2"),
        (3, 2, "Security > OAuth2 > Scopes"),
        (4, None, "Signing"),
        (5, 4, "Signing > Keys in use"),
    ]
    scopes = guide.sections[3]
    assert (scopes.line_start, scopes.line_end) == (18, 20)
    assert guide.text_of(scopes) == "### Scopes\n\nThey limit."
    assert guide.text_of(guide.sections[5]) == "Keys\nin use\n------\n\nThe end."


def test_the_text_keeps_the_line_numbers_of_the_file() -> None:
    guide = read_document(GUIDE.replace(b"\n", b"\r\n"), name="guide.md")
    assert guide.lines == GUIDE.decode().rstrip().split("\n")


@pytest.mark.parametrize(
    "text",
    [
        "~~~\n# inside a fence\n~~~",
        "````\n```\n# still inside\n````",
        "- ```\n  # in a list item\n  ```",
        "<!--\n# in a comment\n-->",
        "    # indented code",
        "#hashtag",
        "####### seven",
        "> # quoted",
        "text\n\n---\n\nmore",
        "- item\n---",
        "| a | b |\n---",
        "a\nb\nc\nd\n---",
    ],
)
def test_what_only_looks_like_a_heading_starts_no_section(text: str) -> None:
    assert headings(text) == [(0, "a")]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Plain", "Plain"),
        ("   ## Indented by three", "Indented by three"),
        ("# **Bold** and `code`", "Bold and code"),
        ("# `__init__` and *args", "__init__ and *args"),
        ("# [Link](http://example.org/x) text {#anchor}", "Link text"),
        ("# List<String> of <em>things</em>", "List<String> of things"),
        (r"# Escaped \# mark", "Escaped # mark"),
        ("#\tTab", "Tab"),
    ],
)
def test_a_heading_is_read_without_its_markup(line: str, heading: str) -> None:
    assert headings(f"{line}\n\ntext")[0][1] == heading


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert headings("# One\n\n```\n# two\n\n# three") == [(1, "One")]


def test_front_matter_that_is_never_closed_is_text() -> None:
    assert headings("---\ntitle: x\n\n# One") == [(0, "One"), (1, "One")]


def test_levels_that_skip_still_hang_under_the_nearest_heading_above() -> None:
    read = read_document(b"# A\n#### B\n## C\n# D", name="a.md")
    assert [section.path for section in read.sections] == ["A", "A > B", "A > C", "D"]


def test_a_heading_of_any_length_has_a_bounded_name_and_keeps_its_line() -> None:
    read = read_document(b"# " + b"long " * 10_000, name="a.md")
    assert len(read.sections[0].heading) <= 300
    assert len(read.text) == 2 + 5 * 10_000 - 1


def test_a_document_without_headings_is_one_section_named_by_its_file() -> None:
    read = read_document(b"\n\nJust words.\n\nMore.\n\n\n", name="folder/notes.md")
    [section] = read.sections
    assert (read.title, section.heading, section.path) == ("notes", "notes", "notes")
    assert (section.line_start, section.line_end) == (3, 5)


def test_the_same_bytes_give_the_same_document() -> None:
    assert read_document(GUIDE, name="guide.md") == read_document(GUIDE, name="guide.md")
