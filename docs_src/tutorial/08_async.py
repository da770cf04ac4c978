import asyncio

from recollect import AsyncRecollect


async def main() -> None:
    async with AsyncRecollect() as r:
        await r.add("Winter tyres go on in the second week of October.")
        questions = ["when do the winter tyres go on?", "when does the release train leave?"]
        answers = await asyncio.gather(*(r.search(question, limit=1) for question in questions))
        for question, hits in zip(questions, answers, strict=True):
            print(question, "->", hits[0].text)


asyncio.run(main())
