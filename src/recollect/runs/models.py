"""Which chat models a run asks, if any. Naming one is the user's choice, and without its key none is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.config import Settings
from recollect.errors import ConfigurationError, InvalidInputError, ModelMissingError
from recollect.providers.models.registry import model_of

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel, Profile, Purse

#: Vendors whose models are often named without them.
_FAMILIES = ((re.compile(r"claude-"), "anthropic"), (re.compile(r"gpt-|o\d"), "openai"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The model that plans and answers, and the one that reads parts; None without one. `opened` are ours to close."""

    root: ChatModel | None = None
    sub_call: ChatModel | None = None
    opened: tuple[ChatModel, ...] = ()
    notes: tuple[str, ...] = ()

    def charged_to(self, purse: Purse) -> Models:
        """The same models on the account of one run."""
        root = None if self.root is None else self.root.charged_to(purse)
        sub_call = (
            root if self.sub_call is self.root or self.sub_call is None else self.sub_call.charged_to(purse)
        )
        return replace(self, root=root, sub_call=sub_call)

    @property
    def profile(self) -> Profile | None:
        """What the planning model can do."""
        return None if self.root is None else self.root.profile

    @property
    def name(self) -> str:
        """The planning model's name; empty without one."""
        return self.root.name if self.root is not None else ""

    async def close(self) -> None:
        """Close what was opened here."""
        for model in self.opened:
            await model.close()


def full_name(name: str, settings: Settings) -> str:
    """A model's name with its vendor, where a well-known one was left out and no server of one's own is set."""
    if ":" in name or settings.model_base_url is not None:
        return name
    return next((f"{family}:{name}" for form, family in _FAMILIES if form.match(name)), name)


def chosen_name(settings: Settings, given: str | None = None) -> str | None:
    """The name of the model that would be asked: the one that is given, that of runs, that of all."""
    name = given or settings.root_model or settings.model
    return None if name is None else full_name(name, settings)


def open_models(
    settings: Settings,
    given: str | ChatModel | None = None,
    *,
    opener: Callable[[str], ChatModel | None] | None = None,
) -> Models:
    """The models of one run. One that is only set, and can't be opened for want of a key, is done without.

    `opener` is who keeps models open; without one they are the run's own, to be closed with it.
    """
    if given is not None and not isinstance(given, str):
        return Models(root=given, sub_call=given)
    name = chosen_name(settings, given)
    if name is None:
        return Models()
    try:
        root = opener(name) if opener is not None else model_of(name, settings)
        second = None if given else settings.sub_call_model
        below = None if second is None else full_name(second, settings)
        sub_call = root
        if below is not None and below != name:
            sub_call = opener(below) if opener is not None else model_of(below, settings)
    except (ConfigurationError, InvalidInputError, ModelMissingError) as error:
        if given is not None:
            raise
        return Models(notes=(f"no model was asked: {error}",))
    own = {id(model): model for model in (root, sub_call) if model is not None} if opener is None else {}
    return Models(root=root, sub_call=sub_call, opened=tuple(own.values()))
