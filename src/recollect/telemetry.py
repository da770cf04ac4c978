"""Metrics and traces, through OpenTelemetry.

Nothing is set up by importing this, and nothing is measured until somebody can hear it: an application that has set its
own OpenTelemetry providers (they are found by themselves), or `configure`. Until then a call here looks at two
variables and returns. Names and labels are those of the table below; docs/telemetry.md explains them.

Spans and metrics carry numbers and the names of stages, tools and decisions; never a word of a question or a memory.
Who measures what is not known here: the stages are timed in retrieval/look.py, tool calls in runs/engine.py.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recollect.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider
    from prometheus_client import CollectorRegistry

#: The name under which our instruments and spans are found.
SCOPE = "recollect"

ROUTING_DECISION = "memory.rlm.routing.decision"
COMPLEXITY_SCORE = "memory.rlm.complexity_score"
EXECUTION_DURATION_MS = "memory.rlm.execution.duration_ms"
EXECUTION_DEPTH = "memory.rlm.execution.depth"
EXECUTION_TOKENS = "memory.rlm.execution.tokens"
CACHE_LOOKUP = "memory.rlm.cache.lookup"
TRAINING_REWARD = "memory.rlm.training.reward"
TRAINING_EXPLORATION_RATE = "memory.rlm.training.exploration_rate"
EXPLORE_OUTCOME = "codebase.rlm.outcome"
EXPLORE_DURATION_MS = "codebase.rlm.duration_ms"
EXPLORE_SUBCALLS = "codebase.rlm.subcalls"
EXPLORE_CACHE_HIT_RATE = "codebase.rlm.cache_hit_rate"
HTTP_REQUESTS = "recollect.http.requests"
HTTP_DURATION_MS = "recollect.http.duration_ms"
HTTP_WAITING = "recollect.http.waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One instrument. No unit: an exporter would hang it on the name, and the names are promised."""

    name: str
    kind: str
    help: str
    buckets: tuple[float, ...] = ()


def _counter(name: str, help: str) -> Metric:
    return Metric(name=name, kind="counter", help=help)


def _gauge(name: str, help: str) -> Metric:
    return Metric(name=name, kind="gauge", help=help)


def _histogram(name: str, help: str, *buckets: float) -> Metric:
    return Metric(name=name, kind="histogram", help=help, buckets=buckets)


# A table: the name, what is measured, and for a histogram the upper ends of its buckets.
# fmt: off
METRICS = (
    _counter(ROUTING_DECISION, "Searches by path; label decision: standard, rlm."),
    _histogram(COMPLEXITY_SCORE, "Complexity of questions, from 0 to 1.",
        0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    _histogram(EXECUTION_DURATION_MS, "Milliseconds that a decomposed question took.",
        5, 10, 25, 50, 100, 200, 400, 800, 1_600, 5_000, 15_000, 30_000, 60_000),
    _histogram(EXECUTION_DEPTH, "Levels that a decomposed question went down.",
        0, 1, 2, 3, 4, 5, 10),
    _histogram(EXECUTION_TOKENS, "Tokens that a decomposed question read or had written.",
        100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    _counter(CACHE_LOOKUP, "Tool calls by what the cache said; label result: hit, miss."),
    # OpenTelemetry's histograms refuse negative numbers, and a reward may be one.
    _histogram(TRAINING_REWARD,
        "Sizes of the rewards that decomposition is trained by, from 0 to 1; label sign: positive, negative.",
        0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    _gauge(TRAINING_EXPLORATION_RATE, "Share of decomposition steps that are tried rather than known."),
    _counter(EXPLORE_OUTCOME,
        "Explorations of code by how they ended; label stopped_by: done, subcalls, timeout, ..."),
    _histogram(EXPLORE_DURATION_MS, "Milliseconds that an exploration of code took.",
        50, 100, 250, 500, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000),
    _histogram(EXPLORE_SUBCALLS,
        "Tool calls that an exploration of code made, without those that the cache answered.",
        0, 1, 2, 5, 10, 20, 30, 50, 100, 500),
    _histogram(EXPLORE_CACHE_HIT_RATE,
        "Share of an exploration's tool calls that the cache answered, from 0 to 1.",
        0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    _counter(HTTP_REQUESTS,
        "Requests to the server; labels route, method, status (0: the client went away before an answer)."),
    _histogram(HTTP_DURATION_MS,
        "Milliseconds from a request to the end of its answer, waiting included; label route.",
        2, 5, 10, 25, 50, 100, 200, 400, 800, 1_600, 5_000, 15_000, 60_000),
    _gauge(HTTP_WAITING, "Requests that wait for their turn."),
)
# fmt: on


@dataclass(slots=True)
class _Setup:
    """What `configure` was given or made; the application's own providers are looked up each time."""

    meters: MeterProvider | None = None
    tracers: TracerProvider | None = None
    registry: CollectorRegistry | None = None
    own_meters: Any = None
    #: The instruments made from each provider, by its identity; the provider is kept, so identities stay apart.
    instruments: dict[int, tuple[object, dict[str, Any]]] = field(default_factory=dict)
    tracer: tuple[object, Tracer] | None = None


_setup = _Setup()
_lock = threading.Lock()
_muted: ContextVar[bool] = ContextVar("recollect_telemetry_muted", default=False)
_NOTHING: AbstractContextManager[None] = nullcontext()


def configure(
    *,
    meter_provider: MeterProvider | None = None,
    tracer_provider: TracerProvider | None = None,
    prometheus: bool = False,
) -> None:
    """Say where metrics and traces go; what is not given stays with the application's own providers, if it has any.

    `prometheus` also counts in this process, for `prometheus_text`; it needs the extra `telemetry`.
    """
    reset()
    _setup.meters, _setup.tracers = meter_provider, tracer_provider
    if prometheus:
        _setup.own_meters, _setup.registry = _prometheus_provider()


def count_here() -> None:
    """Count in this process too, for `prometheus_text`, beside whatever else is set up; needs the extra `telemetry`."""
    if _setup.registry is None:
        _setup.own_meters, _setup.registry = _prometheus_provider()


def counts_here() -> bool:
    """Whether `prometheus_text` has anything to tell."""
    return _setup.registry is not None


def reset() -> None:
    """Forget what `configure` set up."""
    global _setup
    old, _setup = _setup, _Setup()
    if old.own_meters is not None:
        old.own_meters.shutdown()


def prometheus_text() -> bytes:
    """All metrics in Prometheus's text format; empty before `configure(prometheus=True)`."""
    if _setup.registry is None:
        return b""
    from prometheus_client import generate_latest

    return generate_latest(_setup.registry)


@contextmanager
def muted() -> Iterator[None]:
    """Measure nothing in this block, nor in tasks started in it."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def span(name: str, **attributes: float | str) -> AbstractContextManager[object]:
    """A span around a block. Attributes are numbers and names of ours; text of a question or memory has no place."""
    tracer = _tracer()
    return _NOTHING if tracer is None else _recorded(tracer, name, attributes)


def routed(decision: str, score: float) -> None:
    """A search took a path, `standard` or `rlm`, for its complexity."""
    for instruments in _instruments():
        instruments[ROUTING_DECISION].add(1, {"decision": str(decision)})
        instruments[COMPLEXITY_SCORE].record(score)


def executed(duration_ms: float, depth: int, tokens: int) -> None:
    """A decomposed question is answered."""
    for instruments in _instruments():
        instruments[EXECUTION_DURATION_MS].record(duration_ms)
        instruments[EXECUTION_DEPTH].record(depth)
        instruments[EXECUTION_TOKENS].record(tokens)


def looked_up(hit: bool) -> None:
    """A tool call was looked for in the cache."""
    for instruments in _instruments():
        instruments[CACHE_LOOKUP].add(1, {"result": "hit" if hit else "miss"})


def explored(duration_ms: float, *, subcalls: int, cache_hit_rate: float, stopped_by: str) -> None:
    """An exploration of code has ended."""
    for instruments in _instruments():
        instruments[EXPLORE_OUTCOME].add(1, {"stopped_by": stopped_by})
        instruments[EXPLORE_DURATION_MS].record(duration_ms)
        instruments[EXPLORE_SUBCALLS].record(subcalls)
        instruments[EXPLORE_CACHE_HIT_RATE].record(cache_hit_rate)


def trained(reward: float, exploration_rate: float) -> None:
    """A training step took a reward, and tries this share of steps."""
    for instruments in _instruments():
        sign = "negative" if reward < 0 else "positive"
        instruments[TRAINING_REWARD].record(abs(reward), {"sign": sign})
        instruments[TRAINING_EXPLORATION_RATE].set(exploration_rate)


def answered(route: str, method: str, status: int, duration_ms: float) -> None:
    """The server has answered a request."""
    for instruments in _instruments():
        labels = {"route": route, "method": method, "status": str(status)}
        instruments[HTTP_REQUESTS].add(1, labels)
        instruments[HTTP_DURATION_MS].record(duration_ms, {"route": route})


def waiting(number: int) -> None:
    """So many requests wait for their turn at this moment."""
    for instruments in _instruments():
        instruments[HTTP_WAITING].set(number)


# ---------------------------------------------------------------- who is listening


def _instruments() -> Iterator[dict[str, Any]]:
    """The instruments of everybody who listens."""
    if _muted.get():
        return
    chosen = _setup.meters or _host_provider("metrics", "get_meter_provider", "_ProxyMeterProvider")
    for provider in (chosen, _setup.own_meters):
        if provider is not None:
            yield _instruments_of(provider)


def _instruments_of(provider: Any) -> dict[str, Any]:
    known = _setup.instruments.get(id(provider))
    if known is not None:
        return known[1]
    with _lock:
        # Somebody may have made them while this waited.
        if id(provider) not in _setup.instruments:
            meter = provider.get_meter(SCOPE)
            _setup.instruments[id(provider)] = (provider, {m.name: _make(meter, m) for m in METRICS})
        return _setup.instruments[id(provider)][1]


def _make(meter: Any, metric: Metric) -> Any:
    if metric.kind == "histogram":
        buckets = list(metric.buckets)
        return meter.create_histogram(
            metric.name, description=metric.help, explicit_bucket_boundaries_advisory=buckets
        )
    create = meter.create_counter if metric.kind == "counter" else meter.create_gauge
    return create(metric.name, description=metric.help)


def _tracer() -> Tracer | None:
    if _muted.get():
        return None
    provider = _setup.tracers or _host_provider("trace", "get_tracer_provider", "ProxyTracerProvider")
    if provider is None:
        return None
    if _setup.tracer is None or _setup.tracer[0] is not provider:
        _setup.tracer = (provider, provider.get_tracer(SCOPE))
    return _setup.tracer[1]


def _host_provider(module: str, getter: str, default: str) -> Any:
    """The provider the application has set; None when it is still OpenTelemetry's own, of the class `default`.

    An application that set one has imported OpenTelemetry, so nobody else pays for the import.
    """
    loaded = sys.modules.get(f"opentelemetry.{module}")
    get = getattr(loaded, getter, None)
    if get is None:
        return None
    provider = get()
    return None if type(provider).__name__ == default else provider


def _prometheus_provider() -> tuple[Any, CollectorRegistry]:
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.sdk.metrics import MeterProvider
        from prometheus_client import CollectorRegistry
    except ImportError as error:
        raise ConfigurationError(
            "metrics for Prometheus need the OpenTelemetry SDK; install recollect[telemetry]"
        ) from error
    registry = CollectorRegistry()
    reader = PrometheusMetricReader(registry=registry, disable_target_info=True)
    return MeterProvider(metric_readers=[reader], shutdown_on_exit=False), registry


# ---------------------------------------------------------------- spans

#: What an attribute's text may look like: the name of a tool, a stage, a decision.
_NAME = re.compile(r"[\w.:-]{1,64}", re.ASCII)


@contextmanager
def _recorded(tracer: Tracer, name: str, attributes: Mapping[str, float | str]) -> Iterator[object]:
    """A span whose fault, if there is one, is its type's name: a message may quote what was asked."""
    from opentelemetry.trace import Status, StatusCode

    kept = {key: value for key, value in attributes.items() if _may_be_told(value)}
    with tracer.start_as_current_span(
        name, attributes=kept, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def _may_be_told(value: object) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, str) and _NAME.fullmatch(value) is not None)
