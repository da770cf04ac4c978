from recollect import Recollect

with Recollect() as r:
    r.delete(filters={"page": "feedback"})  # in case you ran this before
    r.add("The staging server is called falcon.", metadata={"page": "feedback"})
    r.add("The staging server was called osprey in spring.", metadata={"page": "feedback"})

    results = r.search("What is the staging server called?", threshold=0.0)
    right = next(hit for hit in results if "falcon" in hit.text)
    wrong = next(hit for hit in results if "osprey" in hit.text)

    # The agent answered from one of them: say which.
    r.learning.log_retrieval_event(results.query_id, [right.id])
    # A person looked at the other one.
    given = r.feedback(wrong.id, "outdated", query_id=results.query_id)
    print(given.kind.value, given.score)

    better, worse = r.get(right.id).utility, r.get(wrong.id).utility
    print("what was used is worth more now:", better > 0 > worse)
