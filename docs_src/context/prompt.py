from recollect import Recollect

with Recollect() as r:
    r.add(
        "Harbor Freight is our largest customer; it orders every quarter and pays on time.",
        type="summary",
    )
    r.add(None, type="semantic", subject="Harbor Freight", predicate="prefers", object="delivery on Tuesdays")
    r.add(
        None,
        type="procedural",
        trigger="Harbor Freight asks for a discount",
        action="offer 5 % on orders above 50,000",
    )
    r.add(
        [
            {"role": "Mara", "content": "Did Harbor Freight complain about the late delivery?"},
            {"role": "Tom", "content": "Harbor Freight was not happy, they want a credit note."},
        ],
        created_at="2026-05-04",
    )

    context = r.context("Should we offer Harbor Freight a discount?", max_tokens=400, now="2026-05-20")
    print(context)

    roles = [message["role"] for message in context.to_messages(system="You help the sales team.")]
    print(roles, len(context.memories), "memories,", context.tokens <= context.max_tokens)
