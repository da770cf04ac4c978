"""Results show themselves in notebooks, in rich, and as DataFrames."""

from __future__ import annotations

import io
import sys

import pandas
import pytest
from rich.console import Console

from recollect import Recollect
from recollect.errors import IntegrationMissingError

TEXT = "Ana keeps <b>bees</b> [red]behind[/red] the house."


def printed(value: object) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(value)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_notebook_shows_hits_as_a_table_and_marks_as_text(client: Recollect) -> None:
    client.add(TEXT)
    results = client.search("Who keeps bees?", threshold=0)
    html = results._repr_html_()
    assert f">{results[0].score:.2f}</td>" in html
    assert "Ana keeps &lt;b&gt;bees&lt;/b&gt; [red]behind" in html
    assert "<b>" not in html
    assert "user/root" in html
    assert TEXT in printed(results)
    assert str(results).startswith(f"{results[0].score:.2f}  {TEXT}  user/root  20")


def test_nothing_found_is_said(client: Recollect) -> None:
    results = client.search("Who keeps bees?")
    assert "<em>Nothing remembered answers that.</em>" in results._repr_html_()
    assert "Nothing remembered answers that." in printed(results)
    assert "<em>No memories here.</em>" in client.list()._repr_html_()
    assert (str(results), str(client.list())) == ("Nothing remembered answers that.", "No memories here.")


def test_turns_show_their_speaker_and_a_page_that_there_is_more(client: Recollect) -> None:
    client.add([{"role": "user", "content": "I row."}, {"speaker": "Ben", "content": "I run."}])
    page = client.list(limit=1)
    assert "Ben: I run." in page._repr_html_()
    assert "There are more: pass next_cursor as cursor." in page._repr_html_()
    assert "There are more" in printed(page)


def test_results_are_a_data_frame(client: Recollect) -> None:
    client.add("Ana keeps bees.", metadata={"n": 1})
    client.add("Ben keeps hens.")
    found = client.search("Who keeps bees?", threshold=0).to_pandas()
    assert isinstance(found, pandas.DataFrame)
    assert set(found["text"]) == {"Ana keeps bees.", "Ben keeps hens."}
    assert found.loc[found["text"] == "Ana keeps bees.", "metadata"].item() == {"n": 1}
    assert found["score"].dtype == float
    listed = client.list().to_pandas()
    assert list(listed["type"]) == ["episodic", "episodic"]
    assert client.get(listed["id"][0]).text == "Ben keeps hens."


def test_sections_of_documents_show_as_well(client: Recollect) -> None:
    client.library.add(b"# Guide\n\n## Tokens\n\nA token expires after 15 minutes.\n", name="guide.md")
    found = client.library.search("When does a token expire?")
    assert "guide.md:" in found._repr_html_()
    assert set(found.to_pandas()["document"]) == {"guide.md"}


def test_without_pandas_it_is_said_what_to_install(
    client: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(IntegrationMissingError, match="pip install pandas"):
        client.list().to_pandas()


def test_answers_and_contexts_are_shown_in_their_words(client: Recollect) -> None:
    client.add(TEXT)
    answer, context = client.ask("Who keeps bees?"), client.context("Who keeps bees?")
    for result in (answer, context):
        html = result._repr_html_()
        assert "Ana keeps &lt;b&gt;bees&lt;/b&gt;" in html
        assert "<b>" not in html
        assert TEXT in printed(result)
        assert "content_hash" not in printed(result)
    assert f"[1] {answer.citations[0].place} supports" in printed(answer)


def test_lists_of_what_is_no_memory_show_themselves_too(client: Recollect) -> None:
    memory = client.add("Acme pays by card.", entities=["Acme", "Imke Brandt"])
    client.update(memory.id, text="Acme pays by <i>invoice</i>.")
    client.search("How does Acme pay?")
    history = client.history(memory.id)
    assert "<th" in history._repr_html_()  # type: ignore[attr-defined]
    assert "text: Acme pays by card." in history._repr_html_()  # type: ignore[attr-defined]
    assert "<i>" not in history._repr_html_()  # type: ignore[attr-defined]
    assert list(history.to_pandas()["event"]) == [entry.event for entry in history]  # type: ignore[attr-defined]
    assert "Imke Brandt" in printed(client.entities.list())
    assert str(client.traces.list()[0].id) in printed(client.traces.list())
    assert client.entities.list(prefix="zzz") == []
    assert "There is nothing." in printed(client.entities.list(prefix="zzz"))
