from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from recollect import Recollect
from recollect.contrib.pydantic_ai import RecollectToolset


def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands for any model of pydantic-ai, and needs no key: it looks a question up, and says what it found."""
    last = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        return ModelResponse(parts=[TextPart(last.metadata["hits"][0]["text"])])
    return ModelResponse(parts=[ToolCallPart("memory_search", {"query": last.content})])


with Recollect() as client:
    client.add("Ana prefers trains to planes.")
    tools = RecollectToolset(client, roots=[], approve_deletes=True)
    agent = Agent(FunctionModel(think), toolsets=[tools])
    print(agent.run_sync("Does Ana prefer trains or planes?").output)
