from recollect import Recollect

with Recollect() as r:
    r.add("The staging server is called falcon.")
    r.add("The staging server was called osprey in spring.")

    results = r.search("What is the staging server called?", threshold=0.0)
    right = next(hit for hit in results if "falcon" in hit.text)
    wrong = next(hit for hit in results if "osprey" in hit.text)

    # The agent answered from one of them: say which.
    r.learning.log_retrieval_event(results.query_id, [right.id])
    # A person looked at the other one.
    given = r.feedback(wrong.id, "outdated", query_id=results.query_id)
    print(given.kind.value, given.score)

    print(f"{r.get(right.id).utility:+.2f} {r.get(wrong.id).utility:+.2f}")
    print(r.learning.status().outcomes)
