"""Comparing strategies on live questions: start, stop, and a report that says what it proves.

Who gets which arm is drawn by hash in `strategies` and logged with its probability; here are the plan and the
arithmetic of the report. One experiment runs at a time, so that no two of them blur each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.domain.learning import (
    ArmReport,
    Estimate,
    Experiment,
    ExperimentReport,
    check_weights,
)
from recollect.domain.text import check_name
from recollect.errors import ConflictError, InvalidInputError, NotFoundError
from recollect.learning.rewards import Measured, ratio
from recollect.storage import learning as storage
from recollect.storage.scopes import get_tenant

if TYPE_CHECKING:
    from recollect.storage.store import Row, Transaction

UNITS = ("user", "session", "query")
MAX_ARMS = 10
#: Below this no interval is worth printing a verdict on.
MIN_QUERIES = 100
MIN_CLUSTERS = 5


def make_plan(arms: object, shares: object, unit: object, *, strategies: Sequence[str]) -> dict[str, Any]:
    """A checked plan. Weights are scaled to add up to 1; shares default to equal ones."""
    if not isinstance(arms, Mapping) or not 2 <= len(arms) <= MAX_ARMS:
        raise InvalidInputError(
            f"arms must name 2 to {MAX_ARMS} strategies, as {{'table': {{}}, 'recent': {{...}}}}"
        )
    if unit not in UNITS:
        raise InvalidInputError(f"unknown unit {unit!r}; lots are drawn per {', '.join(UNITS)}")
    checked: dict[str, Any] = {}
    for given, weights in arms.items():
        arm = check_name(given, what="arm")
        if "/" in arm:
            raise InvalidInputError(f"arm {arm!r} must not have a '/' in its name")
        checked[arm] = _check_arm(arm, weights, strategies)
    return {
        "unit": unit,
        "order": list(checked),
        "arms": checked,
        "shares": _check_shares(shares, list(checked)),
    }


def _check_arm(arm: str, weights: object, strategies: Sequence[str]) -> dict[str, Any]:
    if weights is None or weights == {}:
        return {}
    if not isinstance(weights, Mapping):
        raise InvalidInputError(f"arm {arm!r} must give weights by signal, or by strategy, not {weights!r}")
    if all(isinstance(value, Mapping) for value in weights.values()):
        unknown = [name for name in weights if name not in strategies]
        if unknown:
            known = ", ".join(strategies)
            raise InvalidInputError(f"arm {arm!r} names no known strategy: {unknown[0]!r}; they are {known}")
        return {name: check_weights(value, what=f"arm {arm!r}") for name, value in weights.items()}
    return check_weights(weights, what=f"arm {arm!r}")


def _check_shares(shares: object, arms: Sequence[str]) -> dict[str, float]:
    if shares is None:
        return {arm: 1.0 / len(arms) for arm in arms}
    if not isinstance(shares, Mapping) or set(shares) != set(arms):
        raise InvalidInputError(f"shares must give each arm a share: {', '.join(arms)}")
    for arm, share in shares.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise InvalidInputError(f"the share {share!r} of arm {arm!r} is not above 0 and at most 1")
    total = sum(shares.values())
    if total > 1 + 1e-9:
        raise InvalidInputError(f"the shares add up to {total:g}, which is more than 1")
    return {arm: float(shares[arm]) for arm in arms}


async def start(tx: Transaction, name: str, plan: Mapping[str, Any], now: datetime) -> Experiment:
    """Start an experiment; a name is used once, and only one runs at a time."""
    if "/" in name or name == "explore":
        raise InvalidInputError(
            f"an experiment can't be called {name!r}; leave out '/', and 'explore' is taken"
        )
    await get_tenant(tx)
    if not await tx.execute("insert_experiment", name=name, plan=storage.to_json(plan), at=now):
        known = await storage.list_experiments(tx)
        running = next((experiment.name for experiment in known if experiment.state == "running"), None)
        if running is not None and running != name:
            raise ConflictError(f"experiment {running!r} is running; stop it first")
        raise ConflictError(f"there is an experiment {name!r} already; choose another name")
    return await get(tx, name)


async def stop(tx: Transaction, name: str, now: datetime) -> Experiment:
    """Stop an experiment; what it recorded stays for the report."""
    experiment = await get(tx, name)
    if not await tx.execute("stop_experiment", name=name, at=now):
        raise ConflictError(f"experiment {name!r} was stopped already, at {experiment.stopped_at}")
    return await get(tx, name)


async def get(tx: Transaction, name: str | None) -> Experiment:
    """An experiment by name, or the latest."""
    known = await storage.list_experiments(tx)
    for experiment in known:
        if name is None or experiment.name == name:
            return experiment
    if name is None:
        raise NotFoundError(
            "there is no experiment yet; start one with `recollect learning experiment start`"
        )
    raise NotFoundError(f"no experiment {name!r}; there are {', '.join(e.name for e in known) or 'none'}")


async def report(tx: Transaction, name: str | None, now: datetime) -> ExperimentReport:
    """What an experiment has shown so far."""
    experiment = await get(tx, name)
    rows = await tx.fetch(
        "arm_outcomes",
        arms=[f"{experiment.name}/{arm}" for arm in experiment.arms],
        since=experiment.created_at,
        until=experiment.stopped_at or now,
        by_user=experiment.unit == "user",
    )
    by_arm: dict[str, list[Row]] = {arm: [] for arm in experiment.arms}
    for row in rows:
        by_arm[row["arm"].partition("/")[2]].append(row)
    measured = {arm: _rate(rows, "used", "queries") for arm, rows in by_arm.items()}
    verdict, winner = decide(measured)
    return ExperimentReport(
        experiment=experiment,
        arms=tuple(
            ArmReport(
                arm=arm,
                share=experiment.shares[arm],
                queries=sum(row["queries"] for row in rows),
                used=_estimate(measured[arm]),
                refined=_estimate(_rate(rows, "refined", "queries")),
                feedback=_estimate(_rate(rows, "score", "judged")),
            )
            for arm, rows in by_arm.items()
        ),
        verdict=verdict,
        winner=winner,
    )


def _rate(rows: Sequence[Row], part: str, whole: str) -> Measured:
    parts = np.array([float(row[part]) for row in rows])
    wholes = np.array([float(row[whole]) for row in rows])
    rate = ratio(parts, wholes)
    # `ratio` counts rows; here a row is a user or session with many questions.
    return Measured(
        value=rate.value, error=rate.error, count=int(wholes.sum()), clusters=int((wholes > 0).sum())
    )


def _estimate(measured: Measured) -> Estimate:
    if measured.count == 0:
        return Estimate(value=None, low=None, high=None, count=0)
    low, high = measured.interval()
    return Estimate(
        value=round(measured.value, 4),
        low=round(low, 4) if math.isfinite(low) else None,
        high=round(high, 4) if math.isfinite(high) else None,
        count=measured.count,
    )


def decide(arms: Mapping[str, Measured]) -> tuple[str, str | None]:
    """A sentence that says which arm's results were used most often, if that can be told; and that arm.

    Every arm is compared with the first one. The more comparisons, the more one of them must stand out.
    """
    for arm, measured in arms.items():
        if measured.count < MIN_QUERIES or measured.clusters < MIN_CLUSTERS:
            return (
                f"too early to tell: {arm!r} has {measured.count} searches of {measured.clusters} users or sessions; "
                f"{MIN_QUERIES} and {MIN_CLUSTERS} are the least",
                None,
            )
    control, *others = arms
    z = NormalDist().inv_cdf(1 - 0.025 / len(others))
    better, worse, unclear = [], [], []
    for arm in others:
        treated, usual = arms[arm], arms[control]
        difference = Measured(
            value=treated.value - usual.value,
            error=math.hypot(treated.error, usual.error),
            count=treated.count + usual.count,
            clusters=min(treated.clusters, usual.clusters),
        )
        low, high = difference.interval(z)
        span = f"{difference.value:+.1%}, between {low:+.1%} and {high:+.1%}"
        says = f"used {treated.value:.0%} against {usual.value:.0%} ({span})"
        if low > 0:
            better.append((treated.value, arm, says))
        elif high < 0:
            worse.append(f"{arm!r} does worse than {control!r}: {says}")
        else:
            unclear.append(f"{arm!r} can't be told from {control!r}: {says}")
    sentences = [
        f"{arm!r} does better than {control!r}: {says}" for _, arm, says in sorted(better, reverse=True)
    ]
    winner = max(better)[1] if better else control if worse and not unclear else None
    return "; ".join([*sentences, *worse, *unclear]), winner
