"""Which chat models there are, by name, and how one is opened.

A name is a family and a model: `openai:gpt-5-mini`, `anthropic:claude-sonnet-4-5`, `ollama:llama3.2`. With
`base_url` any server that speaks OpenAI's protocol will do, and the family may be left out. Nothing is imported
and nobody is called until a model is opened.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from recollect.errors import ConfigurationError, InvalidInputError, ModelMissingError
from recollect.providers.models.contract import ChatModel
from recollect.providers.models.profiles import Profile, profile_of

if TYPE_CHECKING:
    from recollect.config import Settings

#: Family -> (the modules it needs, the variable its vendor's key is usually in).
FAMILIES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "openai": (("pydantic_ai", "openai"), "OPENAI_API_KEY"),
    "anthropic": (("pydantic_ai", "anthropic"), "ANTHROPIC_API_KEY"),
    "ollama": (("pydantic_ai", "openai"), None),
}
OLLAMA_URL = "http://127.0.0.1:11434/v1"
INSTALL = "pip install 'recollect[models]'"


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    retries: int = 4,
    profile: Profile | None = None,
) -> ChatModel:
    """Open the chat model called `name`; no request is made before the first question.

    `timeout_s` is for a whole answer, `retries` for what a busy server turns away. A package that is not installed
    raises `ModelMissingError` with the command that installs it.
    """
    family, model = _parse(name, base_url)
    needs, variable = FAMILIES[family]
    missing = [module for module in needs if find_spec(module) is None]
    if missing:
        raise ModelMissingError(
            f"the model {name!r} needs {', '.join(missing)}, not installed here; run: {INSTALL}"
        )
    if base_url is not None and urlsplit(base_url).scheme not in {"http", "https"}:
        raise ConfigurationError(f"model_base_url {base_url!r} is not an HTTP address")
    if family == "ollama" and base_url is None:
        base_url = OLLAMA_URL
    key = api_key or (os.environ.get(variable) if variable and base_url is None else None)
    if key is None and base_url is None:
        raise ConfigurationError(
            f"the model {name!r} has no key: set {variable} or model_api_key, "
            "or model_base_url for a server of your own"
        )
    from recollect.providers.models.chat import connect

    # A server of one's own usually wants no key; the client always does.
    return connect(
        family,
        model,
        name=name,
        base_url=base_url,
        api_key=key or "none",
        timeout_s=timeout_s,
        retries=retries,
        profile=profile or profile_of(name),
    )


def model_of(name: str, settings: Settings) -> ChatModel:
    """The chat model called `name`, as the settings say how to reach it and what it can do."""
    return open_model(
        name,
        base_url=settings.model_base_url,
        api_key=settings.model_api_key,
        timeout_s=settings.model_profile.timeout_s,
        retries=settings.model_profile.retries,
        profile=profile_of(name, settings),
    )


def _parse(name: str, base_url: str | None) -> tuple[str, str]:
    family, _, model = name.partition(":")
    if family in FAMILIES and model:
        return family, model
    if base_url is not None and name.strip() and family not in FAMILIES:
        return "openai", name
    known = ", ".join(f"{family}:<model>" for family in FAMILIES)
    raise InvalidInputError(
        f"there is no chat model called {name!r}; names are {known}, or any name with model_base_url"
    )
