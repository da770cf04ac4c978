from recollect import Recollect

TALK = """
Ana: Hey Bob! Good to see you! How have you been?
Bob: Hi Ana! I adopted a greyhound called Pixel from the shelter in Braga two weeks ago.
Ana: Wow, that's so great! I'm really happy for you!
Bob: Thanks! Pixel has to see the vet on 14 March because of an injured paw.
Ana: I moved from Lisbon to Porto last Saturday, into a flat near the river.
Bob: What a coincidence! My brother signed a lease in Porto until December 2027.
Ana: See you soon, take care!
"""

with Recollect() as r:
    r.delete(conversation="coffee")  # in case you ran this before
    turns = [line.partition(": ") for line in TALK.strip().splitlines()]
    messages = [{"speaker": speaker, "content": text} for speaker, _, text in turns]
    r.add(messages, conversation="coffee", created_at="2026-03-02T10:00:00Z")

    report = r.consolidate(conversation="coffee")
    print(report.made, "made")
    [summary] = r.list(types=["summary"], filters={"summary.about": "coffee"})
    print(summary.text)

    # Each line has the numbers of its sources.
    first = summary.metadata["citations"][0][0]
    source = r.get(summary.metadata["sources"][first - 1])
    print("turn", source.position, "said by", source.speaker)

    print(r.consolidate(conversation="coffee").unchanged, "up to date")

    # What is erased is erased from summaries, too.
    receipt = r.delete(source.id)
    print(receipt.rows["summary"], "summary erased,", receipt.rebuilt, "made again")
    [summary] = r.list(types=["summary"], filters={"summary.about": "coffee"})
    print("greyhound" in summary.text)
