from recollect import Recollect
from recollect.contrib.crewai import RecollectMemory

with Recollect() as client:
    memory = RecollectMemory(client=client)  # Crew(agents=..., tasks=..., memory=memory)
    memory.remember("Ana keeps bees.", scope="/garden")
    for match in memory.recall("Who keeps bees?", scope="/garden"):
        print(match.record.scope, match.record.content)
