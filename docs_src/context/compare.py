from recollect import Recollect

with Recollect() as r:
    for subject, predicate, value in [
        ("Postgres", "costs", "nothing"),
        ("Postgres", "stores", "JSON and vectors"),
        ("Oracle", "costs", "a license per core"),
    ]:
        r.add(None, type="semantic", subject=subject, predicate=predicate, object=value)

    context = r.context("Compare Postgres and Oracle", threshold=0.0)
    print("\n".join(line for line in context.text.splitlines() if line.startswith("|")))
