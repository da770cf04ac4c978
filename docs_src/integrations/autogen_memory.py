import asyncio

from autogen_core.memory import MemoryContent, MemoryMimeType

from recollect import Recollect
from recollect.contrib.autogen import RecollectMemory


async def main(client: Recollect) -> None:
    memory = RecollectMemory(client)  # AssistantAgent("helper", model_client=..., memory=[memory])
    await memory.add(MemoryContent(content="Ana keeps bees.", mime_type=MemoryMimeType.TEXT))
    for item in (await memory.query("Who keeps bees?")).results:
        print(item.content)


with Recollect() as client:
    asyncio.run(main(client))
