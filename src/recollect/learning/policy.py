"""How a question is decomposed without a language model: `DecompositionPolicy`, a softmax over action templates.

A template's score is the sum of its weights times the features of using it now; features describe the situation
(the kind of question, what was found, what it would cost), never the words. Pure: no store, no clock, no numpy, since
a search pays for it. What the templates do is the environment's business; a policy that is older than a template gives
it the neutral score 0. Trained by `decomposition`, used by `runs/planners/learned.py`.
"""

from __future__ import annotations

import json
import logging
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from recollect.domain.codec import encode_fields
from recollect.errors import InvalidInputError

_log = logging.getLogger("recollect.learning")

Features = Mapping[str, float]
#: Templates that can be chosen now, each with the features of choosing it.
Options = Mapping[str, Features]

VERSION = 1
BASE_FILE = "base_policy.json"
#: One feature alone may make a template e**5, about 150 times, as likely or unlikely. Beyond that the softmax is so
#: flat that no outcome could bring the template back.
MAX_WEIGHT = 5.0
#: Part of what is drawn at random is drawn evenly, so that no template is given up for ever.
_EVEN = 0.1
#: Below this, drawing is choosing the best with rounding errors.
_MIN_TEMPERATURE = 0.05


def clamp_weight(value: float) -> float:
    """The weight within its bound; what is not a number counts as none."""
    return min(max(value, -MAX_WEIGHT), MAX_WEIGHT) if math.isfinite(value) else 0.0


def clean_features(features: Features) -> dict[str, float]:
    """Features between 0 and 1; one that is not a number says nothing."""
    return {
        name: min(max(float(value), 0.0), 1.0) if math.isfinite(value) else 0.0
        for name, value in features.items()
    }


def clean_options(options: Mapping[str, Features]) -> dict[str, dict[str, float]]:
    """The features of each template, clean."""
    return {name: clean_features(features) for name, features in options.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionPolicy:
    """Weights by template and feature. `exploration` is the share of choices drawn by lot; at 0 the best is taken.

    `name` says whose weights these are: `prior`, `base`, or the id of a tenant's policy.
    """

    name: str = "prior"
    weights: Mapping[str, Features] = field(default_factory=dict)
    temperature: float = 1.0
    exploration: float = 0.0

    def __post_init__(self) -> None:
        """Keep weights, temperature and exploration within their bounds."""
        weights = {
            template: {name: clamp_weight(float(value)) for name, value in known.items()}
            for template, known in self.weights.items()
        }
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "temperature", max(self.temperature, _MIN_TEMPERATURE))
        object.__setattr__(self, "exploration", min(max(self.exploration, 0.0), 1.0))

    def score(self, template: str, features: Features) -> float:
        """How much speaks for a template now; 0 for one that this policy does not know."""
        known = self.weights.get(template)
        if not known:
            return 0.0
        return sum(known.get(name, 0.0) * value for name, value in clean_features(features).items())

    def softmax(self, options: Options) -> dict[str, float]:
        """The probabilities that are trained: of the scores alone, without exploration."""
        scores = {name: self.score(name, features) / self.temperature for name, features in options.items()}
        if not scores:
            return {}
        top = max(scores.values())
        raised = {name: math.exp(score - top) for name, score in scores.items()}
        total = sum(raised.values())
        return {name: value / total for name, value in raised.items()}

    def probabilities(self, options: Options) -> dict[str, float]:
        """How likely each template is to be chosen: the best one, but for the share that is drawn by lot."""
        if not options:
            return {}
        best, drawn = self.best(options), self.softmax(options)
        return {
            name: (1.0 - self.exploration) * (name == best)
            + self.exploration * ((1.0 - _EVEN) * chance + _EVEN / len(options))
            for name, chance in drawn.items()
        }

    def best(self, options: Options) -> str:
        """The template with the highest score; the first of equals."""
        if not options:
            raise ValueError("there is nothing to choose from")
        # Rounded: two sums that differ in the last bit are equal, whatever the order of their features.
        return max(options, key=lambda name: round(self.score(name, options[name]), 9))

    def draw(self, options: Options, rng: random.Random) -> tuple[str, float]:
        """A template, and how likely it was to be drawn."""
        chances = self.probabilities(options)
        point, reached = rng.random(), 0.0
        drawn = ""
        for name, chance in chances.items():
            if chance > 0.0:
                drawn, reached = name, reached + chance
                if point < reached:
                    break
        if not drawn:
            raise ValueError("there is nothing to choose from")
        return drawn, chances[drawn]

    def exploring(self, rate: float) -> DecompositionPolicy:
        """The same weights with another rate of exploration."""
        return replace(self, exploration=rate)

    def document(self) -> dict[str, Any]:
        """As JSON, with its version."""
        weights = {
            template: {name: round(value, 6) for name, value in sorted(known.items())}
            for template, known in sorted(self.weights.items())
        }
        return {"version": VERSION, **encode_fields(self, without={"weights"}), "weights": weights}

    @classmethod
    def read(cls, document: object) -> DecompositionPolicy:
        """From JSON; refuses what can't be chosen by."""
        if not isinstance(document, Mapping) or not isinstance(document.get("weights"), Mapping):
            raise InvalidInputError(
                "a decomposition policy is an object with weights by template; train anew"
            )
        version = document.get("version")
        if version != VERSION:
            raise InvalidInputError(
                f"a decomposition policy of version {version!r} can't be read, only {VERSION}; train anew"
            )
        try:
            return cls(
                name=str(document.get("name", "")),
                weights={
                    str(template): {str(name): float(value) for name, value in known.items()}
                    for template, known in document["weights"].items()
                },
                temperature=float(document.get("temperature", 1.0)),
                exploration=float(document.get("exploration", 0.0)),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"a decomposition policy has an odd weight: {error}; train anew"
            ) from error


def _once(bias: float, **more: float) -> dict[str, float]:
    """Weights of something to do once: having done it outweighs everything else."""
    return {"bias": bias, "repeated": -MAX_WEIGHT, **more}


#: What an untrained system does: look at the whole question, then try every decomposition that applies, then end.
#: Thorough and wasteful; what to leave out is for training to find. Filters only ever take away, so they come last.
PRIOR = DecompositionPolicy(
    name="prior",
    weights={
        "search": _once(4.0),
        "by_scope": _once(3.0, multi_scope=0.5),
        "by_entity": _once(2.8, multi_entity=0.5),
        "by_period": _once(2.6, temporal=0.5),
        # A hop that led somewhere may be followed by another one.
        "bridge": {"bias": 2.4, "multi_hop": 0.5, "repeated": -4.0, "gained": 1.0},
        "parts": _once(2.2),
        "aggregate": {"bias": 0.5},
        "stop": {"bias": 0.0},
        "filter_relevance": _once(-1.0),
        "filter_recency": _once(-1.0),
    },
)


@cache
def base_policy() -> DecompositionPolicy:
    """What comes with the package, learned from synthetic tasks only; the prior where there is none."""
    file = resources.files("recollect.learning").joinpath(BASE_FILE)
    if not file.is_file():
        return PRIOR
    try:
        return replace(DecompositionPolicy.read(json.loads(file.read_text(encoding="utf-8"))), name="base")
    except (InvalidInputError, ValueError) as error:
        _log.warning("the base policy can't be read and the prior is used: %s", error)
        return PRIOR
