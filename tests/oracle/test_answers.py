"""Answers without a model as a reader sees them: the answer first, in whole sentences, then little else.

Asked of a manual in Markdown and of the same manual printed by a browser, through the public door.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.library.printing import PRINTED
from tests.oracle.small_library import put_document

from recollect import Recollect
from recollect.config import Settings
from recollect.domain.tenancy import TenantContext
from recollect.providers import runtime
from recollect.providers.judge import model

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


@pytest.mark.parametrize(
    "name",
    [
        "manual.md",
        *(
            pytest.param(name, marks=pytest.mark.system)
            for name in ("browser.pdf", "columns.pdf", "outline.pdf")
        ),
    ],
)
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
    assert 1 <= len(related.splitlines()) <= 4
    assert all(re.match(r"- Harbour 4\.2: the manual.*\[\d\]$", line) for line in related.splitlines())
    assert len(result.citations) == len(answer.strip().split("\n\n")) + len(related.splitlines())


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


def test_what_the_judge_accepts_supports_the_answer_and_the_rest_is_quoted(client: Recollect) -> None:
    """Both words stand in one answer: the first place answers, the others only stand there."""
    put_document(client, "manual.md", (PRINTED / "manual.md").read_bytes())
    question = "How often is a machine backed up?"
    result = client.oracle_consult(question)
    assert [one.standing for one in result.citations][:2] == ["supports", "quoted"]
    assert [one.standing for one in client.verify(result.document()).citations][:2] == ["supports", "quoted"]
    assert client.consultations.list(limit=1)[0].supported
    hits = client.library.search(question)
    assert hits[0].citation.supports
    assert not any(hit.citation.supports for hit in hits[1:])
    assert hits[0].signals["verdict"] > hits[-1].signals["verdict"]


def test_where_the_judge_cannot_run_a_note_says_so_and_the_answer_is_quoted(
    client: Recollect, settings: Settings, tenant_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged installation still answers, and claims no more than it knows."""
    put_document(client, "manual.md", (PRINTED / "manual.md").read_bytes())
    monkeypatch.setitem(model.SHA256, "judge.onnx", "another file")
    monkeypatch.setattr(runtime, "_OPEN", {})  # as in a process in which nobody has opened it before
    asker = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin",))
    with Recollect(settings=settings, context=asker) as damaged:
        result = damaged.oracle_consult("How often is a machine backed up?")
    assert result.found
    assert {one.standing for one in result.citations} == {"quoted"}
    assert any("reinstall recollect" in note for note in result.notes)


GUIDE = """# Harbour

## Making a key

Make a key for a program like this:

```sh
harbour keys create bot > key.txt
harbour status --json | jq '.machines[1]'
```

The token is shown once.

## Commands for copies

| command | what it does with copies |
|---|---|
| `harbour copies list` | shows all copies |
| `harbour copies thin` | drops old copies |
"""


def test_code_in_a_section_that_answers_is_a_block_of_code_with_its_own_brackets(client: Recollect) -> None:
    put_document(client, "guide.md", GUIDE.encode())
    answer = client.oracle_consult("How do I make a key for a program?").answer
    assert answer.startswith(
        "Make a key for a program like this:\n\n"
        "```sh\nharbour keys create bot > key.txt\nharbour status --json | jq '.machines[1]'\n```\n\n[1]"
    )
    told = client.ask("How do I make a key for a program?", sources=("memories", "library")).text
    assert "jq '.machines[1]'\n```\n\n[1]" in told


def test_rows_that_answer_alike_are_a_table_and_one_alone_is_read_out(client: Recollect) -> None:
    put_document(client, "guide.md", GUIDE.encode())
    answer = client.oracle_consult("What do the commands do with copies?", depth_hint="quick").answer
    assert "| command | what it does with copies |\n|---|---|\n| `harbour copies list` |" in answer
    assert "drops old copies |\n\n[1]" in answer
    one = client.oracle_consult("Which command drops old copies?", depth_hint="quick").answer
    assert one.startswith("command harbour copies thin: what it does with copies drops old copies. [1]")


def test_lines_of_a_file_are_shown_as_code(client: Recollect, tmp_path: Path) -> None:
    (tmp_path / "rates.py").write_text(
        "def rate_limit(client):\n    # How many requests a client may send in a minute.\n    return LIMITS[0]\n"
    )
    answer = client.oracle_consult(
        "How many requests may a client send in a minute?", working_dir=tmp_path, doc_ids=[]
    ).answer
    assert answer.startswith("```python\ndef rate_limit(client):\n    ")
    assert "LIMITS[0]\n" in answer


def test_a_question_for_all_of_something_in_german_asks_every_section(client: Recollect) -> None:
    sections = "".join(
        f"## {name}\n\nDer Parameter `{name}` braucht einen Neustart.\n\n" for name in ("pool", "port", "wal")
    )
    put_document(client, "handbuch.md", f"# Handbuch\n\n{sections}## Farben\n\nDas Dach ist rot.\n".encode())
    result = client.oracle_consult("Liste alle Parameter auf, die einen Neustart brauchen")
    assert result.consultation.processing_mode == "rlm"
    assert all(
        f"Parameter {name} braucht einen Neustart" in result.answer for name in ("pool", "port", "wal")
    )
    assert "Dach" not in result.answer
    assert any(note.startswith("sections: 4 of 4") for note in result.notes), result.notes
