"""Explorations of code: what was found and where, step by step, and as it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.codebase.shop import lay_out

from recollect import AsyncRecollect, Recollect, RLMResult, Settings, TenantContext
from recollect.client.portal import Portal
from recollect.storage import happenings

from .conftest import PHONE, overflows

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Dashboard, Visit

QUESTION = "How is the discount of the season taken off a price?"
SCRIPT = "<img src=x onerror='window.hit=1'>"


@pytest.fixture
def shop(dashboard: Dashboard) -> Path:
    """Code that the server opens."""
    return lay_out(dashboard.root / uuid4().hex)


Tell = Callable[[str, int, str, dict[str, Any]], None]


@pytest.fixture
def tell(settings: Settings, tenant_id: str) -> Iterator[Tell]:
    """Tells what an exploration in another process would: `tell(task, 1, "started", {"query": "..."})`."""
    portal = Portal()
    context = TenantContext(tenant_id=tenant_id, user_id="root")
    client = AsyncRecollect(settings=settings, context=context)

    async def keep(task: str, number: int, kind: str, detail: dict[str, Any]) -> None:
        workspace = await client._workspace()
        async with workspace.store.transaction(context) as tx:
            said = {"task_id": task, "number": number, "detail": detail}
            await happenings.tell(tx, f"exploration_{kind}", None, said)

    yield lambda *said: portal.run(keep(*said))
    portal.run(client.close())
    portal.close()


@pytest.fixture
def explored(client: Recollect, shop: Path) -> RLMResult:
    """An exploration that was made elsewhere."""
    return client.explore(shop, QUESTION, task_id=f"shop/{uuid4().hex}")


def test_an_exploration_is_shown_with_findings_budget_and_steps(visit: Visit, explored: RLMResult) -> None:
    page = visit("/explorations")
    page.locator(".exploration", has_text=explored.root).click()
    page.get_by_text("Answer", exact=True).wait_for()
    # The name of a file heads its list, it does not hang on to the one before.
    files = [line for line in explored.synthesis.splitlines() if line.endswith(".py:")]
    assert len(files) > 1
    for file in files:
        page.locator(".markdown > p", has_text=file).wait_for()
    for finding in explored.findings:
        page.locator(".finding").get_by_text(
            finding.description.replace("`", ""), exact=True
        ).first.wait_for()
    page.get_by_text(f"{explored.usage.subcall_count} of 50").wait_for()
    steps = explored.trajectory.steps
    assert page.locator(".step").count() == len(steps)
    assert page.locator(".call").count() == sum(len(step.tool_calls) for step in steps)
    page.locator(".call").get_by_text(steps[0].tool_calls[0].tool, exact=True).first.wait_for()


def test_a_citation_click_shows_the_lines_it_stands_for(
    visit: Visit, explored: RLMResult, shop: Path
) -> None:
    cited = explored.citations[0]
    page = visit(f"/explorations/{explored.task_id}")
    page.get_by_role("button", name="Source 1", exact=True).click()
    page.locator(".cited").first.wait_for()
    lines = (shop / cited.file_path).read_text().split("\n")[cited.line_start - 1 : cited.line_end]
    numbers = [str(number) for number in range(cited.line_start, cited.line_end + 1)]
    assert page.locator(".cited .number").all_inner_texts() == numbers
    shown = [text.strip() for text in page.locator(".cited .prose").all_inner_texts()]
    assert shown == [line.strip() for line in lines]
    # Some lines around them are there, and are not marked.
    assert page.locator(".row-line").count() > len(lines)


def test_lines_that_can_not_be_read_again_are_shown_as_they_were_quoted(
    visit: Visit, client: Recollect, explored: RLMResult, shop: Path, tmp_path: Path
) -> None:
    cited = explored.citations[0]
    (shop / cited.file_path).write_text("# all new\n")
    page = visit(f"/explorations/{explored.task_id}")
    page.get_by_role("button", name="Source 1", exact=True).click()
    page.get_by_text("The file changed since").wait_for()
    assert page.locator(".cited .number").first.inner_text() == str(cited.line_start)
    assert page.locator(".cited .prose").first.inner_text().strip() == cited.quote.split("\n")[0].strip()
    # A folder that this server does not open is not read either, whoever explored it.
    elsewhere = client.explore(lay_out(tmp_path / "elsewhere"), QUESTION)
    page = visit(f"/explorations/{elsewhere.task_id}")
    page.get_by_role("button", name="Source 1", exact=True).click()
    page.locator(".cited").first.wait_for()
    assert page.locator(".row-line").count() == page.locator(".cited").count()


def test_an_exploration_that_is_started_here_shows_its_steps_and_its_answer(visit: Visit, shop: Path) -> None:
    page = visit("/explorations")
    page.get_by_label("Question about the code").fill(QUESTION)
    page.get_by_label("Folder").fill(str(shop))
    page.get_by_role("button", name="Explore").click()
    page.get_by_text("Budget", exact=True).wait_for()
    page.locator(".finding").first.wait_for()
    page.locator(".step").first.wait_for()


def test_one_that_runs_shows_its_steps_as_they_come(visit: Visit, tell: Tell) -> None:
    task = uuid4().hex
    tell(task, 1, "started", {"query": "Where is it?"})
    tell(task, 2, "thinking", {"step": 1, "depth": 0, "thought": "Look at the map."})
    page = visit(f"/explorations/{task}")
    page.get_by_text("Where is it?").wait_for()
    page.locator(".step").get_by_text("Look at the map.").wait_for()
    said = {"step": 1, "depth": 0, "tool": "read_file", "parameters": {"path": SCRIPT}, "duration_ms": 3}
    tell(task, 3, "tool_call", said)
    page.locator(".call").get_by_text(f"path={SCRIPT}").wait_for()
    tell(task, 4, "budget", {"remaining": {"subcalls": 41, "seconds": 12.0}})
    page.get_by_text("41 sub-calls, 12 s left").wait_for()
    tell(task, 5, "failed", {"error": "the tree is gone"})
    page.get_by_text("It failed: the tree is gone").wait_for()
    assert page.evaluate("window.hit") is None


def test_an_exploration_from_elsewhere_appears_by_itself(visit: Visit, client: Recollect, shop: Path) -> None:
    page = visit("/explorations")
    question = f"Where is {uuid4().hex} priced?"
    client.explore(shop, question)
    page.locator(".exploration").get_by_text(question).wait_for()


def test_a_folder_that_the_server_does_not_open_is_refused(visit: Visit) -> None:
    page = visit("/explorations")
    page.get_by_label("Question about the code").fill(QUESTION)
    page.get_by_label("Folder").fill("/etc")
    page.get_by_role("button", name="Explore").click()
    page.get_by_role("alert").get_by_text("recollect serve --root FOLDER").wait_for()
    # Nothing that was typed is lost.
    assert page.get_by_label("Question about the code").input_value() == QUESTION
    page.get_by_label("Folder").fill("")
    page.get_by_role("button", name="Explore").click()
    page.get_by_role("alert").nth(1).wait_for()


def test_what_is_not_there_is_said_to_be_missing(visit: Visit) -> None:
    page = visit("/explorations/..%2f..%2fetc%2fpasswd")
    page.get_by_text("There is no such exploration").wait_for()


def test_script_in_code_and_questions_is_text(visit: Visit, client: Recollect, shop: Path) -> None:
    (shop / "shop" / "prices.py").write_text(
        f'"""Prices. {SCRIPT}"""\n\nPASSWORD = "hunter2hunter2"\n\n\n'
        f"def apply_discount{'_of_the_season' * 8}(cents: int) -> int:\n"
        f'    """Take the season\'s discount off a price. {SCRIPT}"""\n    return cents * 9 // 10\n'
    )
    made = client.explore(shop, f"{QUESTION} {SCRIPT}")
    page = visit(f"/explorations/{made.task_id}", size=PHONE)
    page.get_by_text(f"{QUESTION} {SCRIPT}").first.wait_for()
    page.locator(".finding").first.click()
    page.locator(".cited").first.wait_for()
    assert page.locator(".lines").get_by_text(SCRIPT).count()
    # A secret beside the lines stays one.
    page.locator(".lines").get_by_text('PASSWORD = "***"').first.wait_for()
    assert "hunter2" not in page.content()
    assert page.evaluate("window.hit") is None
    assert not overflows(page)
    page.get_by_role("link", name="← Runs").click()
    page.locator(".exploration").get_by_text(SCRIPT).first.wait_for()
    assert page.evaluate("window.hit") is None
    assert not overflows(page)
