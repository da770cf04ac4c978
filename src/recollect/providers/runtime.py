"""Running a small model on this machine's processor: sessions of ONNX Runtime, tokenizers, cores.

Shared by the local embedders and the judge; which model it is, only they know.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from recollect.errors import EmbedderFailedError, InvalidTextError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

Model = TypeVar("Model")

#: Models that are open in this process: clients share a model, which takes up to half a second to open and much memory.
#: Nothing here keeps it open; the last client that lets go of it does.
_OPEN: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_opening = threading.Lock()


def open_session(graph: bytes | Path, *, name: str, optimise: bool) -> InferenceSession:
    """A session over an ONNX graph that computes in the thread that calls it.

    One thread per run, and callers run several at once: they need not wait for each other, while the runtime's own
    threads meet and spin after every operator. On two busy cores this gave 1.2 to 1.9 times the rate, and a question
    took half the time. `optimise` is for graphs that were not written with fused operators already: looking for more
    costs time at every start.
    """
    # Read when it is loaded: it would write an id and a journal into the user's cache, and call home with them.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if optimise else levels.ORT_DISABLE_ALL
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own exceptions have no common base
        raise EmbedderFailedError(
            f"the graph of {name!r} can't be loaded by onnxruntime {onnxruntime.__version__}: {error}; "
            "upgrade onnxruntime, or choose the embedder 'wordllama'"
        ) from error


def open_tokenizer(vocabulary: bytes) -> Tokenizer:
    """A tokenizer from its JSON, which neither cuts nor pads."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(vocabulary)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encode(tokenizer: Tokenizer, text: str, *, special: bool) -> Any:
    """The tokens of a text.

    One at a time: encode_batch starts a thread pool that complains when the process forks later, and tokenizing is a
    hundredth of the work.
    """
    try:
        return tokenizer.encode(text, add_special_tokens=special)
    except (TypeError, UnicodeEncodeError) as error:
        raise InvalidTextError(f"the text can't be embedded: {error}; pass valid Unicode text") from error


def cut_to(ids: list[int], limit: int) -> list[int]:
    """Token ids within a model's window; the last, which ends the text, stays."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def in_batches(run: Callable[[list[int]], None], lengths: Sequence[int], *, size: int, threads: int) -> None:
    """Run the places of texts in batches of like length, so that little is spent on padding.

    The longest first, so that no thread begins the largest batch when the others are done.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    if len(batches) <= 1 or threads == 1:
        for batch in batches:
            run(batch)
        return
    # Threads made for this call and gone after it: a pool that stays would hang in a forked process.
    with ThreadPoolExecutor(min(threads, len(batches))) as pool:
        list(pool.map(run, batches))


def usable_cores() -> int:
    """The processor cores this process may run on, which in a container are fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def opened_once(key: Hashable, open_model: Callable[[], Model]) -> Model:
    """The model that is open under this key, or else a new model. `open_model` must not wait for a network."""
    with _opening:
        model: Model | None = _OPEN.get(key)
        if model is None:
            model = _OPEN[key] = open_model()
        return model


def _begin_anew() -> None:
    """In a process that was forked while another thread opened a model: that thread is not there to finish."""
    global _opening
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
