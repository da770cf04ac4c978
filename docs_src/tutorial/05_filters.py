from recollect import Recollect

with Recollect() as r:
    report = r.add_many(
        [
            {"text": "Ticket 1: the box was wet.", "metadata": {"kind": "ticket", "euros": 12}},
            {"text": "Ticket 2: the box was lost.", "metadata": {"kind": "ticket", "euros": 140}},
            {"text": "", "metadata": {"kind": "ticket"}},
        ]
    )
    print(report.added, "added,", len(report.errors), "refused:", report.errors[0].message)

    costly = {"kind": "ticket", "euros": {"$gte": 80}}
    for memory in r.list(filters=costly):
        print(memory.text, memory.metadata["euros"])
    for hit in r.search("what happened to the box?", filters=costly, threshold=0):
        print(hit.text)
