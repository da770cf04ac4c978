"""Models that are open in a process are opened once, and let go of by the last who holds them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from recollect import Recollect, Settings
from recollect.providers.runtime import opened_once


class Model:
    """Something that can be opened."""


def test_a_model_is_opened_once_while_somebody_holds_it() -> None:
    first = opened_once("a model of this test", Model)
    assert opened_once("a model of this test", Model) is first
    assert opened_once("another model of this test", Model) is not first


def test_a_model_that_nobody_holds_is_gone_and_opened_again() -> None:
    times = 0

    def open_model() -> Model:
        nonlocal times
        times += 1
        return Model()

    for _ in range(2):
        held = opened_once("a model that is let go of", open_model)
        del held
        gc.collect()
    assert times == 2


def test_threads_that_want_it_at_once_get_the_same() -> None:
    together = threading.Barrier(4)

    def want(_: int) -> Model:
        together.wait(60)
        return opened_once("a model of four threads", Model)

    with ThreadPoolExecutor(4) as pool:
        held = list(pool.map(want, range(4)))
    assert len({id(model) for model in held}) == 1


def test_one_that_can_not_be_opened_is_tried_again() -> None:
    def fail() -> Model:
        raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        opened_once("a model that fails", fail)
    assert isinstance(opened_once("a model that fails", Model), Model)


FORK = """
import os, threading
from recollect.providers.runtime import opened_once

begun, go_on = threading.Event(), threading.Event()

class Model:
    pass

def slowly():
    begun.set()
    go_on.wait()
    return Model()

opening = threading.Thread(target=opened_once, args=("a model", slowly))
opening.start()
begun.wait()
child = os.fork()
if child == 0:
    opened_once("a model", Model)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
go_on.set()
opening.join()
"""


def test_a_process_that_was_forked_meanwhile_does_not_wait_for_ever() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_clients_of_one_process_share_embedder_and_judge(store: Recollect, settings: Settings) -> None:
    def models_of(client: Recollect) -> list[object]:
        client.open()
        workspace = client._async._shared.workspace
        assert workspace is not None
        return [
            client._portal.run(workspace.load_embedder("wordllama")),
            client._portal.run(workspace.judge()),
        ]

    with Recollect(settings=settings) as one, Recollect(settings=settings) as other:
        held, same = models_of(one), models_of(other)
        assert all(model is again for model, again in zip(held, same, strict=True))
