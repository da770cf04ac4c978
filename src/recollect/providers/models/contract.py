"""What every chat model promises.

A stage that uses a model asks for a type and gets a value of it, or one of the `ModelError`s; it never sees
raw text, so nothing a model says can be more than the fields of that type. A planner of a large model talks with it
instead: it offers tools, and gets the calls that the model wants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from recollect.providers.models.profiles import Profile
from recollect.providers.models.purse import Purse, Spent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AtMost:
    """On a text or a list of an asked type: how long it may be, where the server enforces schemas.

    A small model that rambles is stopped there and still ends in the asked form. A longer value that arrives all the
    same is accepted: it is of the form, and whoever asked cuts it.
    """

    size: int

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Called by pydantic when the type becomes a schema."""
        schema: dict[str, Any] = handler(core)
        schema["maxItems" if schema.get("type") == "array" else "maxLength"] = self.size
        return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """A value that met the asked type, and what all requests for it used. `mode` is how the type was enforced."""

    value: T
    spent: Spent
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """A tool that a model may call. `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that a model wants; `arguments` are None when what it sent is no JSON object."""

    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said in a conversation. `own` is the same in its vendor's form, for the next request."""

    text: str
    calls: tuple[ToolCall, ...]
    own: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A reply, what its calls gave back in their order, and what is said to the model after that."""

    reply: Reply
    results: tuple[str, ...] = ()
    remark: str = ""


class ChatModel(Protocol):
    """A model that answers with a value of a type. May be called by many tasks of one event loop."""

    @property
    def name(self) -> str:
        """The name it was opened by, whatever the server calls itself."""
        ...

    @property
    def profile(self) -> Profile:
        """What it can do, and the limits that follow."""
        ...

    @property
    def purse(self) -> Purse:
        """What its requests are charged to."""
        ...

    def charged_to(self, purse: Purse) -> ChatModel:
        """The same model, on somebody's account: every request is counted there, and none passes its limits."""
        ...

    async def answer(
        self, instructions: str, text: str, output: type[T], *, max_tokens: int | None = None
    ) -> Answer[T]:
        """Follow `instructions` on `text`; `output` is a pydantic model or a dataclass.

        `max_tokens` is for the answer alone; a model that reasons gets room for that beside it. Raises a `ModelError`
        within `timeout_s`, however many ways of asking were tried.
        """
        ...

    async def converse(
        self,
        instructions: str,
        opening: str,
        exchanges: Sequence[Exchange],
        tools: Sequence[ToolForm],
        *,
        max_tokens: int | None = None,
    ) -> Reply:
        """The model's next words in a conversation, and the tools it wants called. Raises a `ModelError`."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...
