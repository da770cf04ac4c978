"""The portal between synchronous code and the event loop: results, faults, Ctrl+C, forks, the end."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator

import pytest

from recollect.client.portal import Portal
from recollect.errors import ConflictError, RecollectError


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


def run_script(script: str, *, signal_when: str | None = None) -> subprocess.CompletedProcess[str]:
    """A fresh Python with warnings as errors; sends Ctrl+C once the script prints a line."""
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", script]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background inherits a shell's "ignore Ctrl+C", which Python would respect.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    head = ""
    if signal_when is not None:
        assert process.stdout is not None
        head = process.stdout.readline()
        assert head.strip() == signal_when, process.communicate()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, head + out, err)


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_a_coroutine_returns_its_value(portal: Portal) -> None:
    assert portal.run(double(21)) == 42


def test_all_calls_run_in_one_loop_of_another_thread(portal: Portal) -> None:
    async def where() -> tuple[int, int]:
        return id(asyncio.get_running_loop()), threading.get_ident()

    first, second = portal.run(where()), portal.run(where())
    assert first == second
    assert first[1] != threading.get_ident()


def test_an_exception_arrives_with_the_coroutines_own_frames(portal: Portal) -> None:
    async def inner() -> None:
        raise ValueError("no")

    async def outer() -> None:
        await inner()

    with pytest.raises(ValueError, match="no") as caught:
        portal.run(outer())
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names[-2:] == ["outer", "inner"]
    assert "result" not in names, "frames of the waiting are noise"


def test_a_failed_call_leaves_no_reference_cycle(portal: Portal) -> None:
    class MarkedError(Exception):
        pass

    async def fail() -> None:
        raise MarkedError

    def provoke() -> weakref.ref[MarkedError]:
        try:
            portal.run(fail())
        except MarkedError as error:
            return weakref.ref(error)
        raise AssertionError("it did not fail")

    gc.disable()
    try:
        mark = provoke()
        portal.run(double(1))  # the loop lets go of the previous task
        assert mark() is None
    finally:
        gc.enable()


def test_threads_may_call_at_the_same_time(portal: Portal) -> None:
    meeting = threading.Barrier(4)
    answers: list[int] = []

    async def meet(number: int) -> int:
        await asyncio.get_running_loop().run_in_executor(None, meeting.wait)
        return number

    def call(number: int) -> None:
        answers.append(portal.run(meet(number)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [0, 1, 2, 3]


def test_a_call_from_a_thread_that_runs_its_own_loop_works(portal: Portal) -> None:
    async def notebook_cell() -> int:
        return portal.run(double(4))

    assert asyncio.run(notebook_cell()) == 8


def test_the_callers_context_variables_are_seen(portal: Portal) -> None:
    request = contextvars.ContextVar("request", default="none")

    async def read() -> str:
        return request.get()

    request.set("r-1")
    assert portal.run(read()) == "r-1"


def test_a_call_from_inside_the_loop_is_refused_not_a_deadlock(portal: Portal) -> None:
    async def nested() -> int:
        return portal.run(double(1))

    with pytest.raises(RecollectError, match="would wait for itself"):
        portal.run(nested())


def test_a_closed_portal_refuses_and_closing_twice_is_fine() -> None:
    portal = Portal()
    assert portal.run(double(1)) == 2
    portal.close()
    portal.close()
    with pytest.raises(ConflictError, match="is closed"):
        portal.run(double(1))


def test_closing_awaits_the_farewell_once_in_the_same_loop() -> None:
    seen: list[asyncio.AbstractEventLoop] = []

    async def farewell() -> None:
        seen.append(asyncio.get_running_loop())

    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    portal = Portal(on_close=farewell)
    running = portal.run(loop())
    portal.close()
    portal.close()
    assert seen == [running]
    assert running.is_closed()


def test_closing_raises_what_the_farewell_raised() -> None:
    async def farewell() -> None:
        raise RecollectError("the last page was not written")

    portal = Portal(on_close=farewell)
    portal.run(double(1))
    with pytest.raises(RecollectError, match="the last page"):
        portal.close()


def test_a_call_that_is_running_when_the_portal_closes_says_so() -> None:
    portal = Portal()
    begun = threading.Event()
    faults: list[BaseException] = []

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    def call() -> None:
        try:
            portal.run(endless())
        except ConflictError as error:
            faults.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert begun.wait(60)
    portal.close()
    thread.join(60)
    assert [str(fault) for fault in faults] == ["the client was closed while this call was running"]


def test_a_forgotten_portal_says_farewell_and_ends_its_thread() -> None:
    gone = threading.Event()

    async def farewell() -> None:
        gone.set()

    async def thread() -> threading.Thread:
        return threading.current_thread()

    portal = Portal(on_close=farewell)
    served = portal.run(thread())
    del portal
    gc.collect()
    assert gone.wait(60)
    served.join(60)
    assert not served.is_alive()


def test_ctrl_c_cancels_the_coroutine_and_waits_for_its_clean_up() -> None:
    done = run_script(
        """
import asyncio
from recollect.client.portal import Portal

async def endless():
    print("waiting", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.05)
        print("rolled back", flush=True)

portal = Portal()
try:
    portal.run(endless())
except KeyboardInterrupt:
    print("interrupted", flush=True)

async def after():
    return "still works"

print(portal.run(after()), flush=True)
""",
        signal_when="waiting",
    )
    assert done.stdout.split("\n") == ["waiting", "rolled back", "interrupted", "still works", ""]
    assert done.stderr == ""
    assert done.returncode == 0


def test_a_process_that_never_closes_its_portal_ends_quietly_after_the_farewell() -> None:
    done = run_script(
        """
import asyncio
from recollect.client.portal import Portal

async def farewell():
    print("farewell", flush=True)

async def work():
    asyncio.get_running_loop().background = asyncio.create_task(asyncio.Event().wait())
    await asyncio.get_running_loop().run_in_executor(None, int)

portal = Portal(on_close=farewell)
portal.run(work())
"""
    )
    assert done.stdout == "farewell\n"
    assert done.stderr == ""
    assert done.returncode == 0


def test_after_a_fork_the_child_is_told_and_the_parent_goes_on() -> None:
    done = run_script(
        """
import os, warnings
from recollect.errors import ConflictError, RecollectError
from recollect.client.portal import Portal

async def one():
    return 1

warnings.simplefilter("ignore")  # newer Pythons warn about any fork with threads
portal, unused = Portal(), Portal()
portal.run(one())
child = os.fork()
if child == 0:
    try:
        portal.run(one())
    except RecollectError as error:
        print(error, flush=True)
    print("a portal that was not used before:", unused.run(one()), flush=True)
    portal.close()
else:
    _, status = os.waitpid(child, 0)
    print("parent:", portal.run(one()), "child's status:", status, flush=True)
"""
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "this client was used before a fork; make a new one in the child process",
        "a portal that was not used before: 1",
        "parent: 1 child's status: 0",
    ]


def test_a_portal_that_was_never_used_has_no_thread() -> None:
    before = threading.active_count()
    portal = Portal()
    assert threading.active_count() == before
    portal.close()
