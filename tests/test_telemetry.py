"""Metrics and traces as OpenTelemetry's own SDK receives them, caused through the public door."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from recollect import Recollect, Settings, telemetry

AsUser = Callable[..., Recollect]

SIMPLE = "what is the zebra endpoint"
COMPLEX = "compare zebra handling across all teams"


class Heard:
    """What an application's OpenTelemetry was told."""

    def __init__(self) -> None:
        self.reader, self.exporter = InMemoryMetricReader(), InMemorySpanExporter()
        self.meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> set[str]:
        return {span.name for span in self.spans}


@pytest.fixture
def heard() -> Iterator[Heard]:
    listening = Heard()
    telemetry.configure(meter_provider=listening.meters, tracer_provider=listening.tracers)
    yield listening
    telemetry.reset()
    listening.meters.shutdown()
    listening.tracers.shutdown()


@pytest.fixture
def teams(as_user: AsUser) -> Recollect:
    """An admin whose tenant has three teams with something to say."""
    admin = as_user("root", roles=("admin",))
    for team in ("api", "web", "data"):
        admin.scopes.create(f"team/{team}")
        admin.add(f"zebra handling in {team}: the secretword is kept in a vault", scope=f"team/{team}")
    return admin


def test_every_search_counts_its_path_and_its_complexity(heard: Heard, teams: Recollect) -> None:
    teams.search(SIMPLE)
    teams.search(SIMPLE)
    teams.search(COMPLEX)
    decisions = {
        point.attributes["decision"]: point.value for point in heard.points("memory.rlm.routing.decision")
    }
    assert decisions == {"standard": 2, "rlm": 1}
    (scores,) = heard.points("memory.rlm.complexity_score")
    assert scores.count == 3
    assert 0.3 <= scores.max <= 1.0


def test_a_decomposed_question_tells_how_long_how_deep_and_how_much(heard: Heard, teams: Recollect) -> None:
    teams.search(COMPLEX)
    (duration,) = heard.points("memory.rlm.execution.duration_ms")
    (depth,) = heard.points("memory.rlm.execution.depth")
    (tokens,) = heard.points("memory.rlm.execution.tokens")
    assert (duration.count, depth.count, tokens.count) == (1, 1, 1)
    assert duration.sum > 0
    assert tokens.sum > 0
    results = {point.attributes["result"]: point.value for point in heard.points("memory.rlm.cache.lookup")}
    assert results["miss"] > 0
    assert set(results) <= {"hit", "miss"}


def test_a_simple_question_executes_nothing(heard: Heard, teams: Recollect) -> None:
    teams.search(SIMPLE)
    assert heard.points("memory.rlm.execution.duration_ms") == []


def test_training_tells_its_reward_and_how_much_it_explores(heard: Heard) -> None:
    telemetry.trained(0.5, 0.1)
    telemetry.trained(-0.25, 0.05)
    rewards = {point.attributes["sign"]: point for point in heard.points("memory.rlm.training.reward")}
    assert {sign: (point.count, point.sum) for sign, point in rewards.items()} == {
        "positive": (1, 0.5),
        "negative": (1, 0.25),
    }
    (rate,) = heard.points("memory.rlm.training.exploration_rate")
    assert rate.value == 0.05


def test_an_exploration_of_code_tells_how_it_ended_and_what_the_cache_answered(
    heard: Heard, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "zebra.py").write_text("def zebra_endpoint():\n    return 1\n")
    client = Recollect(settings=Settings(home=tmp_path / "home"))
    for _ in range(2):
        client.explore(tmp_path / "code", SIMPLE)
    client.close()
    (outcome,) = heard.points("codebase.rlm.outcome")
    assert (outcome.value, outcome.attributes["stopped_by"]) == (2, "done")
    (calls,) = heard.points("codebase.rlm.subcalls")
    (rate,) = heard.points("codebase.rlm.cache_hit_rate")
    assert (calls.count, calls.min) == (2, 0)
    assert (rate.min, rate.max) == (0.0, 1.0)
    assert heard.points("codebase.rlm.duration_ms")[0].count == 2
    assert {"explore", "outline", "read_file"} <= heard.names


def test_a_standard_search_has_a_span_for_each_stage_below_its_own(heard: Heard, teams: Recollect) -> None:
    teams.search(SIMPLE)
    assert {"search", "understand", "generate", "rank"} <= heard.names
    (root,) = [span for span in heard.spans if span.name == "search"]
    for span in heard.spans:
        assert span.context is not None
        assert root.context is not None
        assert span.context.trace_id == root.context.trace_id
        assert span is root or span.parent is not None
        assert span.status.status_code is not StatusCode.ERROR


def test_a_decomposed_search_has_a_span_for_each_tool_call(heard: Heard, teams: Recollect) -> None:
    teams.search(COMPLEX)
    calls = [span for span in heard.spans if span.name == "search_layer"]
    assert calls
    assert all(span.attributes == {"depth": 0} for span in calls)
    assert len({span.context.trace_id for span in heard.spans if span.context}) == 1


def test_a_context_is_assembled_in_a_span(heard: Heard, teams: Recollect) -> None:
    teams.context(SIMPLE, threshold=0.0)
    assert {"context", "search", "assemble"} <= heard.names
    (root,) = [span for span in heard.spans if span.parent is None]
    assert root.name == "context"


def test_no_word_of_a_question_or_a_memory_is_told(heard: Heard, teams: Recollect) -> None:
    teams.search(COMPLEX, threshold=0.0)
    teams.context(SIMPLE, threshold=0.0)
    told = " ".join(span.to_json() for span in heard.spans)
    told += heard.reader.get_metrics_data().to_json()  # type: ignore[union-attr]
    for word in ("zebra", "secretword", "team/api"):
        assert word not in told


def test_an_attribute_that_is_no_name_is_left_out(heard: Heard) -> None:
    with telemetry.span("stage", depth=2, tool="search_layer", said="what is the zebra endpoint"):
        pass
    assert heard.spans[0].attributes == {"depth": 2, "tool": "search_layer"}


def test_a_fault_is_told_by_its_kind_without_its_words(heard: Heard) -> None:
    with pytest.raises(ValueError, match="zebra"), telemetry.span("stage"):
        raise ValueError("zebra is not a number")
    (span,) = heard.spans
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "ValueError"
    assert "zebra" not in span.to_json()


def test_opentelemetrys_own_variable_switches_everything_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    listening = Heard()
    telemetry.configure(meter_provider=listening.meters, tracer_provider=listening.tracers)
    try:
        telemetry.routed("rlm", 0.55)
        with telemetry.span("search"):
            pass
    finally:
        telemetry.reset()
    assert listening.spans == []
    assert listening.points("memory.rlm.routing.decision") == []


def test_prometheus_reads_the_promised_names() -> None:
    assert telemetry.prometheus_text() == b""
    telemetry.configure(prometheus=True)
    try:
        telemetry.routed("rlm", 0.55)
        telemetry.routed("standard", 0.0)
        telemetry.executed(12.0, 1, 300)
        telemetry.looked_up(True)
        telemetry.trained(0.25, 0.1)
        text = telemetry.prometheus_text().decode()
    finally:
        telemetry.reset()
    lines = text.splitlines()
    assert 'memory_rlm_routing_decision_total{decision="rlm",otel_scope_name="recollect"' in text
    assert 'memory_rlm_cache_lookup_total{otel_scope_name="recollect"' in text
    for name in (
        "memory_rlm_complexity_score",
        "memory_rlm_execution_duration_ms",
        "memory_rlm_execution_depth",
        "memory_rlm_execution_tokens",
        "memory_rlm_training_reward",
    ):
        assert f"# TYPE {name} histogram" in lines
    assert "# TYPE memory_rlm_training_exploration_rate gauge" in lines
    assert telemetry.prometheus_text() == b""


def test_prometheus_and_an_applications_own_provider_both_hear() -> None:
    listening = Heard()
    telemetry.configure(meter_provider=listening.meters, prometheus=True)
    try:
        telemetry.routed("rlm", 0.55)
        assert b"memory_rlm_routing_decision_total" in telemetry.prometheus_text()
    finally:
        telemetry.reset()
    assert listening.points("memory.rlm.routing.decision")[0].value == 1


def test_the_page_names_every_metric_with_its_kind() -> None:
    page = (Path(__file__).parent.parent / "docs" / "telemetry.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    documented = {name.strip().strip("`"): kind.strip() for name, kind in rows}
    assert documented == {metric.name: metric.kind for metric in telemetry.METRICS}


APPLICATION = """
import sys
from recollect import telemetry
telemetry.routed("rlm", 0.5)
with telemetry.span("before"):
    pass
assert not any(name.startswith("opentelemetry") for name in sys.modules), "measuring nothing imports nothing"

from opentelemetry import metrics, trace
telemetry.routed("rlm", 0.5)

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
reader, exporter = InMemoryMetricReader(), InMemorySpanExporter()
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))

telemetry.routed("standard", 0.1)
with telemetry.span("understand"):
    pass
metric = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0]
print(metric.name, [(dict(p.attributes), p.value) for p in metric.data.data_points])
print([span.name for span in exporter.get_finished_spans()])
"""


def test_an_application_that_sets_up_opentelemetry_is_heard_without_a_call_of_ours() -> None:
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "memory.rlm.routing.decision [({'decision': 'standard'}, 1)]",
        "['understand']",
    ]
