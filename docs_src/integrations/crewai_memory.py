from recollect import Recollect
from recollect.contrib.crewai import RecollectMemory

with Recollect() as client:
    memory = RecollectMemory(client=client)  # Crew(agents=..., tasks=..., memory=memory)
    memory.remember("Ana keeps bees.", scope="/garden")
    for found in memory.recall("Who keeps bees?", scope="/garden"):
        print(found.record.scope, found.record.content)
