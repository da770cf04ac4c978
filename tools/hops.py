"""How far one call goes: the files it passes, the calls from one file into another, the transactions it opens.

    uv run python tools/hops.py [search] [add] [consult] [explore]

Every flow runs twice in a tenant of its own (RECOLLECT_HOME says where), and the second time is counted: what is loaded
once is not the flow's. A coroutine counts once however often it is resumed.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from recollect import Recollect, Settings, TenantContext
from recollect.domain.ids import new_id
from recollect.learning import events as learning
from recollect.runs import events

SOURCE = str(Path(__file__).parent.parent / "src" / "recollect")
GUIDE = """# Shop API

## Security

Tokens expire after 15 minutes. Use `refresh_token` to renew one.

## Rate limits

Each client may send 100 requests per minute. Beyond that the answer is 429.
"""
CODE = '''"""Budgets."""


class Budget:
    """What may be used."""

    def reserve(self, tokens: int) -> bool:
        """Set tokens aside before a request is sent."""
        self.left -= tokens
        return self.left >= 0
'''


class Hops:
    """Counts calls between files of the package, in every thread that starts after `watch`."""

    def __init__(self) -> None:
        self.on = False
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.files: set[str] = set()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.transactions = 0
        #: Held, so that no frame's number is used again.
        self._seen: dict[int, FrameType] = {}

    def watch(self) -> None:
        """Listen from now on; what is heard counts while `on`."""
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)

    def _hear(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if not self.on or event != "call" or not name.startswith(SOURCE):
            return
        if self._seen.get(id(frame)) is frame:
            return
        self._seen[id(frame)] = frame
        self.files.add(name)
        self.transactions += frame.f_code.co_name == "transaction" and name.endswith("storage/store.py")
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(SOURCE):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != name:
            self.pairs[caller.f_code.co_filename, name] += 1


def flows(r: Recollect, folder: Path) -> dict[str, Callable[[], object]]:
    """One call of each, the same words every time."""
    return {
        "search": lambda: r.search("When do tokens of the shop expire?"),
        "add": lambda: r.add("The shop opens at nine on Mondays."),
        "consult": lambda: r.oracle_consult("When does a token expire, and how is it renewed?", "thorough"),
        "explore": lambda: r.explore(str(folder), "where are tokens set aside before a request?"),
    }


def main(names: list[str]) -> None:
    """Print a line for each flow, with the pairs of files that call each other most."""
    # Events are kept twice a second, and notes for learning half a second later, also those of the first time: on a
    # busy machine a flow would count more of that. Here, events once at its end, and notes when all is done.
    events._TOGETHER_S = 60.0
    learning.FLUSH_AFTER_S = 60.0
    hops = Hops()
    hops.watch()
    context = TenantContext(tenant_id=f"hops-{new_id()}", user_id="root", roles=("admin", "operator"))
    with tempfile.TemporaryDirectory() as folder, Recollect(settings=Settings.load(), context=context) as r:
        r.tenants.create(context.tenant_id)
        tree = Path(folder)
        (tree / "budget.py").write_text(CODE)
        (tree / "main.py").write_text("from budget import Budget\n\nBudget().reserve(5)\n")
        r.library.add(GUIDE.encode(), name="shop.md", wait=True)
        r.add("Tokens of the shop expire after 15 minutes.")
        for name, flow in flows(r, tree).items():
            if names and name not in names:
                continue
            flow()
            hops.clear()
            hops.on = True
            flow()
            hops.on = False
            total = sum(hops.pairs.values())
            print(f"{name}: {len(hops.files)} files, {total} hops, {hops.transactions} transactions")
            for (one, other), count in hops.pairs.most_common(8):
                print(f"    {count:5d}  {_short(one)} -> {_short(other)}")


def _short(path: str) -> str:
    return path.removeprefix(SOURCE + "/")


if __name__ == "__main__":
    main(sys.argv[1:])
