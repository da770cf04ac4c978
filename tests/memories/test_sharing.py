"""One client, many callers: threads, tasks, closing, and a clean exit."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from recollect import AsyncRecollect, Memory, Recollect, Settings, workspace
from recollect.errors import ConflictError
from recollect.storage import spaces


def test_threads_beyond_the_pool_share_a_client(client: Recollect, settings: Settings) -> None:
    with Recollect(settings=settings.replace(pool_size=2), context=client.tenant_context) as narrow:

        def work(number: int) -> str:
            memory = narrow.add(f"thread {number}")
            assert isinstance(memory, Memory)
            narrow.search(f"thread {number}", threshold=0)
            return narrow.get(memory.id).text

        with ThreadPoolExecutor(12) as pool:
            assert list(pool.map(work, range(24))) == [f"thread {n}" for n in range(24)]


def test_tasks_beyond_the_pool_share_a_client(client: Recollect, settings: Settings) -> None:
    async def main() -> int:
        async with AsyncRecollect(
            settings=settings.replace(pool_size=2), context=client.tenant_context
        ) as narrow:
            adds = [narrow.add(f"task {n}") for n in range(30)]
            lists = [narrow.list(limit=3) for _ in range(30)]
            searches = [narrow.search("task", threshold=0) for _ in range(10)]
            await asyncio.gather(*adds, *lists, *searches)
            return len(await narrow.list())

    assert asyncio.run(main()) == 30


def test_the_first_call_of_many_opens_the_store_once(client: Recollect, settings: Settings) -> None:
    lazy = Recollect(settings=settings, context=client.tenant_context)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: len(lazy.list()), range(8))) == [0] * 8
    lazy.close()


def test_closing_does_not_wait_for_an_index_that_is_long_in_the_building(
    client: Recollect, settings: Settings, owner_conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "CHORES_S", 0.1)
    monkeypatch.setattr(spaces, "EXACT_ROWS", 0)
    with psycopg.connect(owner_conninfo, autocommit=True) as somebody_else:
        somebody_else.execute("select pg_advisory_lock(%s)", [spaces._INDEX_LOCK])
        with Recollect(settings=settings, context=client.tenant_context) as other:
            other.add("more than exact search is meant for")
    assert [memory.text for memory in client.list()] == ["more than exact search is meant for"]


def test_closing_twice_is_once_and_using_after_it_is_a_conflict(
    client: Recollect, settings: Settings
) -> None:
    other = Recollect(settings=settings, context=client.tenant_context)
    other.add("before")
    view = other.for_context(client.tenant_context)
    other.close()
    other.close()
    for call in (other.list, view.list, lambda: other.add("after"), other.status, other.open):
        with pytest.raises(ConflictError, match="closed"):
            call()
    assert [memory.text for memory in client.list()] == ["before"]


def test_a_closed_asynchronous_client_is_a_conflict_too(client: Recollect, settings: Settings) -> None:
    async def main() -> None:
        other = AsyncRecollect(settings=settings, context=client.tenant_context)
        await other.list()
        await other.close()
        await other.close()
        with pytest.raises(ConflictError, match="closed"):
            await other.list()

    asyncio.run(main())


def test_a_client_that_was_never_used_closes_in_peace(settings: Settings) -> None:
    Recollect(settings=settings).close()
    asyncio.run(AsyncRecollect(settings=settings).close())


def test_an_interrupted_call_leaves_the_client_usable(client: Recollect, settings: Settings) -> None:
    async def main() -> list[str]:
        async with AsyncRecollect(
            settings=settings.replace(pool_size=1), context=client.tenant_context
        ) as other:
            await other.add("first")
            for _ in range(5):
                task = asyncio.create_task(other.add_many([{"text": f"cancelled {n}"} for n in range(150)]))
                await asyncio.sleep(0)
                await other.list(limit=1)
                task.cancel()
                # The pool may hand over a connection in the very moment of the cancel, and the call then ends well.
                await asyncio.gather(task, return_exceptions=True)
            await other.add("last")
            texts = [memory.text for memory in await other.list(limit=1000)]
            return [text for text in texts if not text.startswith("cancelled")]

    assert asyncio.run(main()) == ["last", "first"]


LEAVE = {
    "closed": "with Recollect(settings=settings) as client: client.add('x'); client.search('x', threshold=0)",
    "not closed": "client = Recollect(settings=settings); client.add('x')",
    "never opened": "client = Recollect(settings=settings)",
    "asynchronous": """
async def main():
    async with AsyncRecollect(settings=settings) as client:
        await client.add('x')
        await client.search('x', threshold=0)
asyncio.run(main())
""",
    "view closed": """
client = Recollect(settings=settings)
client.for_context(client.tenant_context).add('x')
client.close()
""",
    "failed": """
with Recollect(settings=settings) as client:
    try:
        client.add('')
    except RecollectError as error:
        assert error.code == 'invalid_text'
""",
}


@pytest.mark.system
@pytest.mark.parametrize("how", LEAVE)
def test_a_process_ends_without_warnings_or_leaks(settings: Settings, store: Recollect, how: str) -> None:
    program = (
        "import asyncio, os\n"
        "from pathlib import Path\n"
        "from recollect import AsyncRecollect, Recollect, RecollectError, Settings\n"
        "settings = Settings(home=Path(os.environ['HOME_OF_TEST']), embedder='wordllama',"
        " database_url=os.environ.get('URL_OF_TEST') or None)\n" + LEAVE[how]
    )
    environment = {
        **os.environ,
        "HOME_OF_TEST": str(settings.home),
        "URL_OF_TEST": settings.database_url or "",
    }
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
