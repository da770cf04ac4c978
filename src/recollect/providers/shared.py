"""Models that are open in this process, so that the next client need not load them again.

Clients of one process share a model: it takes a tenth of a second to half a second to open, and its weights stand in
memory once. Nothing here keeps one open; the last client that lets go of it does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Model = TypeVar("Model")

_OPEN: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_opening = threading.Lock()


def opened_once(key: Hashable, open_model: Callable[[], Model]) -> Model:
    """The model that is open under this key, or else a new one. `open_model` must not wait for a network."""
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
