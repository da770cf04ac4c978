from agents import Agent, Runner

from recollect import Recollect
from recollect.contrib.openai_agents import RecollectSession

with Recollect() as client:
    session = RecollectSession("trip-to-porto", client)
    agent = Agent(name="Travel", instructions="Answer in one sentence.")
    Runner.run_sync(agent, "I am going to Porto on Friday.", session=session)
    print(Runner.run_sync(agent, "When am I leaving?", session=session).final_output)
    print(client.search("Where am I going?")[0].text)  # what was said is a memory like any other
