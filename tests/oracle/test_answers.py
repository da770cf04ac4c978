"""Answers without a model as a reader sees them: the answer first, in whole sentences, then little else.

Asked of a manual in Markdown and of the same manual printed by a browser, through the public door.
"""

from __future__ import annotations

import re

import pytest
from tests.library.printing import PRINTED
from tests.oracle.small_library import put_document

from recollect import Recollect

QUESTIONS = [
    ("On which port do the agents reach the server?", "TCP port 7420"),
    ("How long are daily copies kept on the Office plan?", "Daily copies 30 days"),
    ("How often is a machine backed up?", "every four hours"),
    ("How long is a rescue code valid?", "valid for one hour"),
    ("What happens when I lose the passphrase?", "harbour unlock --recovery"),
    ("What does error H-317 mean?", "locked by another process"),
    ("May an auditor restore files?", "May restore nothing"),
    ("Which cipher encrypts the backups?", "XChaCha20-"),
    ("How much memory does the server need?", "4 GB of memory"),
    ("When are old copies thinned out?", "every night at 02:30"),
    ("Why are my backups slow?", "virus scanner"),
    ("What is the reason for H-201?", "five minutes"),
]
MARKDOWN = re.compile(r"[`|#]|\*\*|\]\(")


@pytest.mark.parametrize("name", ["manual.md", "browser.pdf", "columns.pdf", "outline.pdf"])
def test_a_manual_answers_the_same_questions_however_it_was_printed(client: Recollect, name: str) -> None:
    put_document(client, name, (PRINTED / name).read_bytes())
    first = {question: client.oracle_consult(question).answer.splitlines()[0] for question, _ in QUESTIONS}
    wrong = {question: first[question] for question, wanted in QUESTIONS if wanted not in first[question]}
    assert len(wrong) <= 1, wrong
    for line in first.values():
        words = line.removesuffix(" [1]")
        assert line.endswith(" [1]")
        assert words[0].isupper()
        assert words.endswith((".", ":"))
        assert not MARKDOWN.search(words)


def test_what_else_bears_on_it_is_marked_and_little(client: Recollect) -> None:
    put_document(client, "manual.md", (PRINTED / "manual.md").read_bytes())
    result = client.oracle_consult("How often is a machine backed up?")
    answer, _, related = result.answer.partition("\nSee also:\n")
    assert answer.startswith("A machine is backed up every four hours unless its policy says otherwise.")
    assert 1 <= len(related.splitlines()) <= 3
    assert all(re.match(r"- Harbour 4\.2: the manual.*\[\d\]$", line) for line in related.splitlines())
    assert len(result.citations) == len(answer.splitlines()) + len(related.splitlines())


def test_a_citation_of_a_wrapped_paragraph_has_the_whole_sentences(client: Recollect) -> None:
    put_document(client, "manual.md", (PRINTED / "manual.md").read_bytes())
    quote = client.oracle_consult("How long is a rescue code valid?").citations[0].quote
    assert quote.startswith("Start the machine")
    assert quote.endswith("about three hours.")


def test_a_printed_answer_names_its_page(client: Recollect) -> None:
    put_document(client, "browser.pdf", (PRINTED / "browser.pdf").read_bytes())
    assert client.oracle_consult("How often is a machine backed up?").citations[0].pages == (1, 1)
    assert client.oracle_consult("What does error H-317 mean?").citations[0].pages == (2, 2)


def test_a_search_says_what_it_found_in_whole_sentences(client: Recollect) -> None:
    put_document(client, "manual.md", (PRINTED / "manual.md").read_bytes())
    best = client.library.search("How long are daily copies kept on the Office plan?")[0]
    assert best.text == "Plan Office: Hourly copies 48 hours; Daily copies 30 days; Monthly copies 12 months."
    assert "| Office | 48 hours |" in best.quote
