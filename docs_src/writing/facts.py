from recollect import Recollect

with Recollect() as r:
    r.delete(filters={"subject": "Mara"})  # in case you ran this before
    old = r.add("Mara works at Acme.", type="semantic")
    print(old.subject, "|", old.predicate, "|", old.object)

    r.add("Mara joined Globex.", type="semantic")
    print([memory.text for memory in r.list(filters={"subject": "Mara"})])
    print(r.history(old.id)[-1].before["reason"])

    r.restore(old.id)
    print(r.get(old.id).status.value)
