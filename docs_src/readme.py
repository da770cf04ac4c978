from recollect import Recollect

with Recollect() as r:
    r.add("The release train leaves every second Tuesday at eleven.")
    r.add("Ana prefers a written design before any meeting about it.")
    r.add(
        "When a parcel has had no scan for 48 hours, ask the last depot for a shelf check.", type="procedural"
    )

    for hit in r.search("what should I send Ana before we meet?"):
        print(f"{hit.score:.2f}  {hit.text}")
