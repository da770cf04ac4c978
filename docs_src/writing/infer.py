from recollect import Recollect

with Recollect() as r:
    done = r.add(
        [
            {"speaker": "Priya", "content": "I moved to Pune last month. Do you like it there?"},
            {"speaker": "Tom", "content": "Maybe. The stand-up is at 9:15."},
            {"speaker": "Priya", "content": "We moved the stand-up to 9:30."},
        ],
        conversation="monday",
        created_at="2026-05-04",
        infer=True,
    )
    print(len(done), "turns,", len(done.facts), "facts")
    for decision in done.decisions:
        print(f"{decision.kind:9}  {decision.text or '(an older fact)':30}  {decision.reason}")
