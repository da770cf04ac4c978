"""Questions that need every line: counts, groups, pairs and the most frequent, over up to thousands of labelled lines.

A real HTTP server plays the model. It plans each question with the calls that a good planner makes, and reads single
lines rightly but for a given share of them. What is measured is the engine: with rows as they were read its answers
must be exact, every section looked at, and the cost within what the dry run said. Beside it the same model reads the
same text in one request and counts what it is shown without a slip, which is kinder to direct reading than any real
model is.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from recollect.client.sync_client import Recollect
from recollect.domain.oracle import OracleConsultResult
from recollect_bench.result import Bar, Result, describe_environment
from recollect_bench.tickets import TASKS, Cells, Task, Ticket, make_tickets, read_ticket, write_document
from recollect_bench.trial import trial_store

if TYPE_CHECKING:
    from recollect_bench.show import Show

SIZES = (100, 500, 1_000, 5_000)
ERROR_RATES = (0.0, 0.05)
WINDOW = 128_000
#: Dollars for a million tokens in and out, as of a middling hosted model.
_PRICES = (1.0, 4.0)
_DOCUMENT = "tickets.md"
_NUMBERED = re.compile(r"^(\d+): (.*)$", re.MULTILINE)
_COLUMNS = [
    {"name": "customer", "about": "who wrote it"},
    {"name": "day", "kind": "date"},
    {
        "name": "label",
        "about": "what it is about",
        "one_of": ["billing", "login", "delivery", "refund", "praise"],
    },
]
_MAP = {"source": _DOCUMENT, "question": "every ticket, and what it is about", "columns": _COLUMNS}


@dataclass(slots=True, kw_only=True)
class _Reader:
    """The model: what it is asked now, how often it errs, and what it has read."""

    url: str = ""
    task: Task = TASKS[0]
    error_rate: float = 0.0
    seed: int = 1
    requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The message that answers a request."""
        with self.lock:
            self.requests += 1
        told, text = _text(request["messages"][0]), _text(request["messages"][-1])
        if "You read pieces of text" in told:
            return {"content": json.dumps({"rows": list(self._rows(text))})}
        if "findings that somebody else collected" in told:
            return {"content": json.dumps({"blocks": [{"text": "The rows say:", "sources": [1]}]})}
        if request.get("tools") and any(
            one["function"]["name"] == "map_sections" for one in request["tools"]
        ):
            return self._plan(request)
        return {"content": json.dumps({"sentences": [self._direct(text)]})}

    def read(self, line: str) -> Ticket | None:
        """A line as this model reads it."""
        return read_ticket(line, error_rate=self.error_rate, seed=self.seed)

    def _rows(self, text: str) -> Iterator[dict[str, Any]]:
        for number, line in _NUMBERED.findall(text):
            ticket = self.read(line)
            if ticket is not None:
                label = {"customer": ticket.customer, "day": ticket.day, "label": ticket.label}
                yield {"line": int(number), "quote": f"Ticket {ticket.number:04d}", **label}

    def _plan(self, request: Mapping[str, Any]) -> dict[str, Any]:
        steps: list[list[tuple[str, Any]]] = [[("map_sections", _MAP)]]
        last = len(self.task.steps) - 1
        for place, step in enumerate(self.task.steps):
            steps.append([("query_rows", {**step, "in_answer": place == last})])
        quote = {"description": "The rows that answer.", "quote": "count: ", "result": f"{len(steps)}.1"}
        steps.append([("record_findings", {"findings": [quote]}), ("finish", {})])
        calls = steps[min(sum("tool_calls" in one for one in request["messages"]), len(steps) - 1)]
        return {
            "content": None,
            "tool_calls": [
                {
                    "id": f"c{len(request['messages'])}_{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(given)},
                }
                for place, (name, given) in enumerate(calls)
            ],
        }

    def _direct(self, text: str) -> dict[str, Any]:
        """The answer by the lines of one request, counted without a slip."""
        shown = [(line, ticket) for line in text.splitlines() if (ticket := self.read(line)) is not None]
        cells = self.task.answer([ticket for _, ticket in shown])
        table = "\n".join(f"| {' | '.join(one)} |" for one in cells) or "none"
        return {"text": f"{len(shown)} read.\n\n{table}", "quotes": [line for line, _ in shown[:1]]}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content or ())


@contextmanager
def _serve() -> Iterator[_Reader]:
    """A model's server on loopback while the context lasts."""
    reader = _Reader()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = reader.answer(request)
            said = json.dumps(message)
            asked = len(json.dumps([request["messages"], request.get("tools")])) // 4
            usage = {"prompt_tokens": asked, "completion_tokens": len(said) // 4}
            usage["total_tokens"] = sum(usage.values())
            choice = {
                "index": 0,
                "message": {"role": "assistant", **message},
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
            }
            body = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "reader",
                "choices": [choice],
                "usage": usage,
            }
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    reader.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield reader
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def run_dense(
    *, show: Show, sizes: Sequence[int] = SIZES, error_rates: Sequence[float] = ERROR_RATES, seed: int = 1
) -> Result:
    """Every task at every size and error rate."""
    measures: dict[str, Any] = {}
    with _serve() as reader, trial_store("wordllama") as store:
        settings = store.settings.replace(
            model="openai:reader",
            model_base_url=reader.url,
            model_api_key="none",
            model_profile={"window": WINDOW, "input_usd": _PRICES[0], "output_usd": _PRICES[1]},
        )
        with (
            Recollect(settings=settings) as client,
            show.stage("sizes and error rates", len(sizes) * len(error_rates)) as progress,
        ):
            for number, size in enumerate(sizes):
                tickets = make_tickets(size, seed=seed)
                client.library.add(write_document(tickets).encode(), name=_DOCUMENT, wait=True)
                for place, rate in enumerate(error_rates, 1):
                    reader.error_rate, reader.seed = rate, seed
                    measures[f"{size:,} rows, {rate:.0%} misread"] = _measured(client, reader, tickets)
                    progress(number * len(error_rates) + place, len(sizes) * len(error_rates))
    everything = list(measures.values())
    return Result(
        bench="dense",
        arguments={"sizes": list(sizes), "error_rates": list(error_rates), "seed": seed},
        measures=measures,
        bars=[
            Bar(
                name="exact by the rows as read",
                value=min(one["exact by rows"] for one in everything),
                bar=1.0,
            ),
            Bar(name="sections looked at", value=min(one["coverage"] for one in everything), bar=1.0),
            Bar(
                name="cost of the bound",
                value=max(one["of the bound"] for one in everything),
                bar=1.0,
                at_most=True,
            ),
        ],
        environment=describe_environment(),
    )


def _measured(client: Recollect, reader: _Reader, tickets: Sequence[Ticket]) -> dict[str, Any]:
    """All tasks over one document: what was answered, how much was looked at, what it cost."""
    misread = [one for ticket in tickets if (one := reader.read(ticket.line)) is not None]
    session = f"dense {len(tickets)} {reader.error_rate}"
    by_rows = exact = direct_exact = 0
    coverage, of_bound, shown = 1.0, 0.0, 1.0
    usd: list[float] = []
    direct_usd: list[float] = []
    requests: list[int] = []
    for task in TASKS:
        reader.task, reader.requests = task, 0
        bound = client.oracle_dry_run(task.question, depth_hint="thorough", doc_ids=[_DOCUMENT]).max_usd
        result = client.oracle_consult(task.question, "thorough", doc_ids=[_DOCUMENT], session=session)
        requests.append(reader.requests)
        cost = result.consultation.cost_usd
        assert bound is not None
        assert cost is not None
        said = _cells(result)
        by_rows += said == task.answer(misread)
        exact += said == task.answer(tickets)
        coverage = min(coverage, _looked(result))
        of_bound = max(of_bound, cost / bound)
        usd.append(cost)
        direct = client.oracle_consult(task.question, "quick", doc_ids=[_DOCUMENT])
        direct_exact += _cells(direct) == task.answer(tickets)
        read = re.match(r"(\d+) read", direct.answer)
        shown = min(shown, int(read[1]) / len(tickets) if read else 0.0)
        direct_usd.append(direct.consultation.cost_usd or 0.0)
    return {
        "tasks": len(TASKS),
        "exact by rows": by_rows / len(TASKS),
        "exact": exact / len(TASKS),
        "coverage": coverage,
        "requests": requests,
        "usd": [round(one, 4) for one in usd],
        "of the bound": round(of_bound, 3),
        "direct": {
            "exact": direct_exact / len(TASKS),
            "lines shown": round(shown, 3),
            "usd": [round(one, 4) for one in direct_usd],
        },
    }


def _cells(result: OracleConsultResult) -> list[Cells]:
    """The rows of the table in an answer, without its head and its sources."""
    lines = [line for line in result.answer.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [tuple(row[:2]) for row in rows if row[-1] != "source"]


def _looked(result: OracleConsultResult) -> float:
    """The share of the sections that were looked at, as the notes say it."""
    found = next(
        (re.match(r"sections: ([\d,]+) of ([\d,]+)", one) for one in result.notes if "sections:" in one), None
    )
    if found is None:
        return 0.0
    looked, total = (int(one.replace(",", "")) for one in found.groups())
    return looked / total
