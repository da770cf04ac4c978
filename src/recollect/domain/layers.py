"""The seven layers, and how a scope is written.

A memory lives in one layer, in one scope of it. Layers go from the most specific to the most
general, and that order is also their precedence in results. A scope is written `layer/name`:
`team/api`, `user/ana`. Agent and session scopes belong to a user, so `session/42` of one user is
not the `session/42` of another; who owns which is the database's business (storage/sql).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.text import check_name, parse_member
from recollect.errors import InvalidInputError


class Layer(enum.StrEnum):
    """Where a memory lives. Declaration order is precedence, 1 to 7."""

    AGENT = "agent"
    USER = "user"
    SESSION = "session"
    PROJECT = "project"
    TEAM = "team"
    ORG = "org"
    COMPANY = "company"

    @property
    def precedence(self) -> int:
        """1 for the most specific layer, 7 for the most general."""
        return _PRECEDENCE[self]

    @classmethod
    def from_precedence(cls, precedence: int) -> Layer:
        """The layer of a number, as the database keeps it."""
        return _LAYERS[precedence - 1]

    @classmethod
    def parse(cls, value: str) -> Layer:
        """Read a layer's name; an unknown one is an error that lists the known ones."""
        return parse_member(cls, value, "layer")


_LAYERS = list(Layer)
_PRECEDENCE = {layer: number for number, layer in enumerate(_LAYERS, 1)}

#: Layers whose scopes belong to one user (or stand alone, for an agent without a user).
OWNED_LAYERS = frozenset({Layer.AGENT, Layer.SESSION})
#: Layers whose scopes appear by themselves on first write; the others are created on purpose.
PERSONAL_LAYERS = frozenset({Layer.AGENT, Layer.USER, Layer.SESSION})
#: Which layers a scope may hang under. Users stand beside the tree: a lead does not read them.
PARENT_LAYERS: dict[Layer, frozenset[Layer]] = {
    Layer.COMPANY: frozenset(),
    Layer.ORG: frozenset({Layer.COMPANY, Layer.ORG}),
    Layer.TEAM: frozenset({Layer.ORG, Layer.COMPANY, Layer.TEAM}),
    Layer.PROJECT: frozenset({Layer.TEAM, Layer.ORG, Layer.COMPANY, Layer.PROJECT}),
    Layer.USER: frozenset(),
    Layer.SESSION: frozenset({Layer.USER}),
    Layer.AGENT: frozenset({Layer.USER}),
}


@dataclass(frozen=True, slots=True)
class ScopeName:
    """A scope as people write it: `team/api`."""

    layer: Layer
    name: str

    def __str__(self) -> str:
        return f"{self.layer.value}/{self.name}"

    @classmethod
    def parse(cls, value: str, *, default_layer: Layer | None = None) -> ScopeName:
        """Read `layer/name`, or a bare name when the layer is known from elsewhere."""
        head, slash, tail = value.partition("/")
        if slash and head in Layer.__members__.values():
            layer = Layer(head)
            if default_layer is not None and layer is not default_layer:
                raise InvalidInputError(
                    f"scope {value!r} is of layer {head!r}, but layer={default_layer.value!r} was asked for"
                )
            return cls(layer, check_name(tail, what="scope name"))
        if default_layer is None:
            raise InvalidInputError(_without_layer(value))
        return cls(default_layer, check_name(value, what="scope name"))


def read_place(layer: object, scope: object) -> tuple[Layer, ScopeName | None]:
    """Where something is to be stored. A scope says its layer; with neither it is the caller's own user layer.

    A bare name is a scope only beside a layer: alone it could be a user's as well as a team's.
    """
    named = None if scope is None else str(scope)
    if layer is not None:
        known = Layer.parse(str(layer))
        return known, None if named is None else ScopeName.parse(named, default_layer=known)
    if named is None:
        return Layer.USER, None
    place = ScopeName.parse(named)
    return place.layer, place


def _without_layer(scope: str) -> str:
    if scope in Layer.__members__.values():
        return (
            f"scope {scope!r} is a layer and lacks a name; write it as '{scope}/NAME', such as 'team/api' or "
            f"'user/ana', or give the layer alone for the {scope} you stand in"
        )
    return f"scope {scope!r} has no layer; write it as 'team/{scope}' or 'user/{scope}'"


def parse_layers(layers: Sequence[str] | None) -> list[Layer] | None:
    """Layers by name; a bare string is a mistake worth naming."""
    if layers is None:
        return None
    if isinstance(layers, str):
        raise InvalidInputError(f"layers must be a list, not the string {layers!r}; write [{layers!r}]")
    return [Layer.parse(layer) for layer in layers]
