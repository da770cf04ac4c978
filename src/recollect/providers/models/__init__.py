"""Chat models: instructions and a text in, a checked value out.

`open_model("openai:gpt-5-mini")` gives one. What a model promises is in `contract`, which families there are
is in `registry`, and `chat` talks to all of them through pydantic-ai. Importing this package loads none of it.
"""

from recollect.providers.models.contract import Answer, ChatModel
from recollect.providers.models.registry import open_model

__all__ = ["Answer", "ChatModel", "open_model"]
