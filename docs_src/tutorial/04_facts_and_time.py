from recollect import Recollect

with Recollect() as r:
    old = r.add(
        "The fee per card payment is 2.9 %.",
        type="semantic",
        subject="card fee",
        predicate="is",
        object="2.9 %",
        created_at="2026-01-07",
    )
    r.add(
        "The fee per card payment is 1.7 %.",
        type="semantic",
        subject="card fee",
        predicate="is",
        object="1.7 %",
        created_at="2026-07-14",
    )

    question = "What is the fee per card payment?"
    print("now:", r.search(question, limit=1)[0].text)
    print("in May:", r.search(question, limit=1, as_of="2026-05-01")[0].text)
    print([entry.event for entry in r.history(old.id)])
