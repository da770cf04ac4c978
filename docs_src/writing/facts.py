from recollect import Recollect

with Recollect() as r:
    old = r.add("Ana works at Acme.", type="semantic")
    print(old.subject, "|", old.predicate, "|", old.object)

    r.add("Ana joined Globex.", type="semantic")
    print([memory.text for memory in r.list(types=["semantic"])])
    print(r.history(old.id)[-1].before["reason"])

    r.restore(old.id)
    print(r.get(old.id).status.value)
