"""What a local model makes of a few questions, by hand: its answers are kept as they are, and nothing is a bar.

The model is a GGUF file that somebody has, served on loopback by xllamacpp in a process of its own. It is consulted,
asked, told to explore and to infer. Measured is whether what it says stands where it says; whether that is clever is
for whoever reads the result.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.client.sync_client import Recollect
from recollect.domain.findings import Citation
from recollect.domain.results import Inference
from recollect_bench.result import Result, describe_environment
from recollect_bench.trial import trial_store

if TYPE_CHECKING:
    from recollect_bench.show import Show

_SERVER = """
import sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx, parameters.n_parallel, parameters.port = int(sys.argv[2]), 1, 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
_HANDBOOK = b"""# Backup service

## Schedules

A full copy is made every Sunday at 02:00. Increments follow every four hours. Copies are kept for 30 days; those of the
first Sunday of a month for one year.

## Limits

| plan | space | streams |
|---|---|---|
| basic | 100 GB | 2 |
| team | 1 TB | 8 |
| company | 20 TB | 32 |

## Settings

`retention_days` says how long copies are kept. Changing it needs a restart of the agent.

`bandwidth_limit` is read again every minute; nothing has to be restarted.

`encryption_key` can be set once only. Changing it needs a restart of the agent and a new full copy.

`log_level` can be changed at any time.

## Restoring

A single file is restored from the console within minutes. A whole machine is restored from the rescue image, which
needs the recovery code that was printed when the agent was installed.
"""
_TALK = [
    {"role": "user", "content": "We moved the weekly review from Monday to Thursday at ten."},
    {"role": "assistant", "content": "Noted. Is it still in the small meeting room?"},
    {"role": "user", "content": "No, in the library now. And Mira takes the notes from next week on."},
]
_FACTS = (
    "The outage of 3 March was caused by a full disk on db2.",
    "Mira leads the platform team.",
    "On 19 April the mail gateway was down for two hours.",
    "Invoices are sent on the first working day.",
    "A certificate that had expired took the shop offline on 7 June.",
)


@contextmanager
def _served(file: Path, window: int) -> Iterator[str]:
    """The model behind an OpenAI-compatible server while the context lasts."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(file), str(window)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield f"{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.communicate()


def run_local(file: Path, *, show: Show, window: int = 4_096, timeout_s: float = 240.0) -> Result:
    """Every question, one after another."""
    measures: dict[str, Any] = {}
    with _served(file, window) as url, trial_store("wordllama") as store:
        settings = store.settings.replace(
            model="openai:local",
            model_base_url=url,
            model_api_key="none",
            model_profile={"window": window, "timeout_s": timeout_s},
            budget={"timeout_seconds": timeout_s},
        )
        with Recollect(settings=settings) as client:
            client.library.add(_HANDBOOK, name="backup.md", wait=True)
            for text in _FACTS:
                client.add(text)
            questions = _questions(client)
            with show.stage("questions", len(questions)) as progress:
                for number, (name, question, ask) in enumerate(questions, 1):
                    began = time.monotonic()
                    measures[name] = {"question": question, **ask(question)}
                    measures[name]["seconds"] = round(time.monotonic() - began, 1)
                    progress(number, len(questions))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Result(
        bench="local",
        arguments={"model": file.stem, "sha256": digest, "window": window},
        measures=measures,
        bars=[],
        environment=describe_environment(),
    )


def _questions(client: Recollect) -> list[tuple[str, str, Callable[[str], dict[str, Any]]]]:
    runs = Path(str(resources.files("recollect.runs")))

    def consult(depth: str) -> Callable[[str], dict[str, Any]]:
        def ask(question: str) -> dict[str, Any]:
            result = client.oracle_consult(question, depth)
            told = _told(result.answer, result.citations, result.notes)
            return told | {"tokens": result.consultation.tokens["total"], "stopped by": result.stopped_by}

        return ask

    def ask(question: str) -> dict[str, Any]:
        answer = client.ask(question, ["memories"])
        return _told(answer.text, answer.citations, answer.notes)

    def explore(question: str) -> dict[str, Any]:
        result = client.explore(runs, question, max_subcalls=12)
        told = _told(result.synthesis, result.citations, result.notes)
        return told | {"tokens": result.usage.total_tokens, "stopped by": result.stopped_by}

    def infer(question: str) -> dict[str, Any]:
        report = client.add(_TALK, conversation="review", infer=True)
        assert isinstance(report, Inference)
        kept = "\n".join(one.text for one in report.facts)
        return {"answer": kept, "citations": 0, "standing": 0, "notes": list(report.notes)}

    return [
        ("consult, quick", "How long are copies kept?", consult("quick")),
        ("consult, rows", "List every setting that needs a restart of the agent.", consult("auto")),
        ("consult, thorough", "What is needed to restore a whole machine?", consult("thorough")),
        ("ask, one", "Who leads the platform team?", ask),
        ("ask, rows", "List all outages that we had.", ask),
        ("explore", "Where is it decided that a run has used up its money?", explore),
        ("infer", "What a conversation says", infer),
    ]


def _told(text: str, citations: tuple[Citation, ...], notes: tuple[str, ...]) -> dict[str, Any]:
    standing = sum(one.status.value in ("quoted", "moved") for one in citations)
    return {"answer": text, "citations": len(citations), "standing": standing, "notes": list(notes)}
