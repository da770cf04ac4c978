"""Does learning to decompose show? Untrained against trained policies, on questions that did not train them.

Each seed trains on a made-up company of its own; all are tested on one more company, with task templates that were held
out of training (`learning/bootstrap_tasks.py`). Every task is answered by the untrained policy and by each trained one,
with their best choices; the interval is of the paired differences, resampled over seeds and tasks. The mean of the
trained policies can be written down as the base that comes with the package: it has seen synthetic tasks only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.learning.bootstrap import BootstrapConfig, BootstrapTrainer, Trial, fresh_trainer
from recollect.learning.bootstrap_tasks import TEMPLATES, BootstrapTask
from recollect.learning.policy import PRIOR, DecompositionPolicy
from recollect.learning.rewards import RewardConfig, Signal, TrainingOutcome
from recollect_bench.learning_world import NOW, LearningWorld, make_world
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.trial import fresh_tenant, trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: The company that nothing trains on.
TEST_WORLD = 100
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """How much to train and test."""

    seeds: int = 5
    iterations: int = 40
    tasks_each: int = 20
    config: BootstrapConfig = field(default_factory=BootstrapConfig)


def run_learning(
    plan: LearningPlan, *, embedder: str, home: Path | None, show: Show, write_base: Path | None = None
) -> Result:
    """Train on several companies, test on another one, and compare."""
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        tested = _company(client, make_world(TEST_WORLD), f"bench-learning-{TEST_WORLD}", show)
        trained: list[DecompositionPolicy] = []
        curves: list[list[float]] = []
        for seed in range(plan.seeds):
            inside = _company(client, make_world(seed), f"bench-learning-{seed}", show)
            with show.stage(f"training, seed {seed}", plan.iterations) as progress:
                policy, curve = _train(inside, plan, seed, progress)
            trained.append(policy)
            curves.append(curve)
        base = mean_policy(trained)
        policies = {"untrained": PRIOR, **{f"seed {n}": one for n, one in enumerate(trained)}, "base": base}
        with show.stage("testing", len(policies)) as progress:
            trials = _test(tested, plan, policies, progress)
        environment |= describe_store(client)
    if write_base is not None:
        write_base.write_text(json.dumps(base.document(), indent=1) + "\n", encoding="utf-8")
        show.say(f"wrote the mean of {plan.seeds} policies to {write_base.name}")
    measures = measure(trials, curves)
    gain, calls = measures["gain"], measures["policies"]
    return Result(
        bench="learning",
        arguments={"embedder": embedder, "seeds": plan.seeds, "iterations": plan.iterations},
        measures=measures,
        bars=[
            Bar(name="reward gained on templates held out, lower bound", value=gain["low"], bar=0.0),
            Bar(
                name="tool calls of the trained policy, as a share of the untrained one's",
                value=calls["trained"]["subcalls"] / max(calls["untrained"]["subcalls"], 1e-9),
                bar=1.0,
                at_most=True,
            ),
        ],
        environment=environment,
    )


def _company(client: Recollect, world: LearningWorld, tenant: str, show: Show) -> Recollect:
    inside, there = fresh_tenant(client, tenant, holds=len(world.items))
    if there:
        return inside
    for name, parent in world.scopes:
        inside.scopes.create(name, parent=parent)
    with show.stage(f"storing {tenant}", len(world.items)) as progress:
        inside.add_many(list(world.items), progress=progress)
    return inside


def _trainer(inside: Recollect, workspace: Any, plan: LearningPlan, seed: int) -> BootstrapTrainer:
    from recollect.retrieval.training import execute_with

    execute = execute_with(workspace, inside.tenant_context, now=NOW)
    return BootstrapTrainer(workspace.store, execute, config=plan.config, seed=seed, clock=lambda: NOW)


def _train(
    inside: Recollect, plan: LearningPlan, seed: int, progress: Callable[[int, int | None], None]
) -> tuple[DecompositionPolicy, list[float]]:
    async def go() -> tuple[DecompositionPolicy, list[float]]:
        bootstrap = _trainer(inside, await inside._async._workspace(), plan, seed)
        templates = [template for template in TEMPLATES if not template.held_out]
        tasks = await bootstrap.generate_bootstrap_tasks(templates, inside.tenant_context, plan.tasks_each)
        await bootstrap.measure(PRIOR, tasks)
        trainer = fresh_trainer(PRIOR, plan.config)
        curve: list[float] = []
        for number in range(plan.iterations):
            curve += await bootstrap.train(trainer, tasks, 1)
            progress(number + 1, None)
        return trainer.policy, curve

    return inside._portal.run(go())


def _test(
    inside: Recollect,
    plan: LearningPlan,
    policies: Mapping[str, DecompositionPolicy],
    progress: Callable[[int, int | None], None],
) -> dict[str, list[Trial]]:
    async def go() -> dict[str, list[Trial]]:
        bootstrap = _trainer(inside, await inside._async._workspace(), plan, TEST_WORLD)
        tasks: dict[bool, list[BootstrapTask]] = {}
        for held_out in (False, True):
            templates = [template for template in TEMPLATES if template.held_out is held_out]
            tasks[held_out] = await bootstrap.generate_bootstrap_tasks(
                templates, inside.tenant_context, plan.tasks_each
            )
        await bootstrap.measure(PRIOR, tasks[False])
        trials = {}
        for number, (name, policy) in enumerate(policies.items(), 1):
            trials[name] = await bootstrap.evaluate(policy, tasks[True])
            progress(number, None)
        return trials

    return inside._portal.run(go())


def mean_policy(policies: Sequence[DecompositionPolicy]) -> DecompositionPolicy:
    """The mean of every weight: policies that started alike and learned alike differ by chance."""
    weights: dict[str, dict[str, float]] = {}
    for template in sorted({name for one in policies for name in one.weights}):
        features = sorted({name for one in policies for name in one.weights.get(template, {})})
        weights[template] = {
            name: sum(one.weights.get(template, {}).get(name, 0.0) for one in policies) / len(policies)
            for name in features
        }
    return DecompositionPolicy(name="base", weights=weights)


def measure(trials: Mapping[str, Sequence[Trial]], curves: Sequence[Sequence[float]]) -> dict[str, Any]:
    """What each policy reached, and the gain of training with its interval."""
    seeds = [name for name in trials if name.startswith("seed ")]
    before = trials["untrained"]
    differences = np.array(
        [[new.reward - old.reward for old, new in zip(before, trials[name], strict=True)] for name in seeds]
    )
    low, high = interval(differences)
    plain = np.array(
        [[_plain(new) - _plain(old) for old, new in zip(before, trials[name], strict=True)] for name in seeds]
    )
    plain_low, plain_high = interval(plain)
    templates = list(dict.fromkeys(trial.task.template for trial in before))
    after = [trial for name in seeds for trial in trials[name]]
    return {
        "tasks": len(before),
        "policies": {
            "untrained": _summary(before),
            "trained": _summary(after),
            "base": _summary(trials["base"]),
        },
        "seeds": {name: _summary(trials[name]) for name in seeds},
        "templates": {
            template: {
                "untrained": _summary([one for one in before if one.task.template == template]),
                "trained": _summary([one for one in after if one.task.template == template]),
            }
            for template in templates
        },
        "gain": {"mean": float(differences.mean()), "low": low, "high": high, "confidence": 0.95},
        "plain_gain": {
            "mean": float(plain.mean()),
            "low": plain_low,
            "high": plain_high,
            "confidence": 0.95,
        },
        "curves": [[round(value, 4) for value in curve] for curve in curves],
    }


def _plain(trial: Trial) -> float:
    """The reward by the plain formula, in which a good answer is cut off at 1."""
    outcome = TrainingOutcome(signal=Signal.RESULT_USED, quality_score=trial.quality)
    return RewardConfig().compute(outcome, tokens_used=trial.tokens)


def _summary(trials: Sequence[Trial]) -> dict[str, float]:
    return {
        "reward": _mean([one.reward for one in trials]),
        "plain_reward": _mean([_plain(one) for one in trials]),
        "quality": _mean([one.quality for one in trials]),
        "subcalls": _mean([one.subcalls for one in trials]),
        "tokens": _mean([one.tokens for one in trials]),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(differences: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    """The 95 % interval of the mean of a (seed, task) table, resampling both."""
    rng = np.random.default_rng(0)
    seeds, tasks = differences.shape
    means = np.empty(_RESAMPLES)
    for number in range(_RESAMPLES):
        rows = rng.integers(seeds, size=seeds)
        columns = rng.integers(tasks, size=tasks)
        means[number] = differences[rows][:, columns].mean()
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
