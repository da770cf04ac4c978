"""Chat models: instructions and a text in, a checked value out.

`open_model("openai:gpt-5-mini")` gives one. What a model promises is in `contract`, what one can do in `profiles`,
which families there are in `registry`, what requests use in `purse`, and `chat` talks to all of them through
pydantic-ai. Importing this package loads none of it.
"""

from recollect.providers.models.contract import Answer, ChatModel, Exchange, Reply, ToolCall, ToolForm
from recollect.providers.models.profiles import Profile, profile_of
from recollect.providers.models.purse import Purse, Spent
from recollect.providers.models.registry import model_of, open_model

__all__ = [
    "Answer",
    "ChatModel",
    "Exchange",
    "Profile",
    "Purse",
    "Reply",
    "Spent",
    "ToolCall",
    "ToolForm",
    "model_of",
    "open_model",
    "profile_of",
]
