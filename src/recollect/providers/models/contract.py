"""What every chat model promises.

A stage that uses a model asks for a type and gets a value of it, or one of the `ModelError`s; it never sees
raw text, so nothing a model says can be more than the fields of that type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

#: Enough for the facts of a few pages; a model that rambles is cut off here.
MAX_OUTPUT_TOKENS = 1_024


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
    """A value that met the asked type, and what it cost. `mode` is how the type was enforced."""

    value: T
    input_tokens: int
    output_tokens: int
    mode: str


class ChatModel(Protocol):
    """A model that answers with a value of a type. May be called by many tasks of one event loop."""

    @property
    def name(self) -> str:
        """The name it was opened by, whatever the server calls itself."""
        ...

    async def answer(
        self, instructions: str, text: str, output: type[T], *, max_tokens: int = MAX_OUTPUT_TOKENS
    ) -> Answer[T]:
        """Follow `instructions` on `text`; `output` is a pydantic model or a dataclass.

        Raises a `ModelError` within `timeout_s`, however many ways of asking were tried.
        """
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...
