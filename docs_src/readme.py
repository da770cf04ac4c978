from recollect import Recollect

with Recollect() as memory:
    memory.add("Mia lives in Porto.")
    memory.add("Mia moved to Lisbon.")  # from now on this answers; the older one is marked outdated
    memory.add("Mia is allergic to peanuts.")
    memory.add("If a parcel has no scan for 48 hours, ask the last depot for a shelf check.")

    for question in ("Where does Mia live?", "What is Mia allergic to?", "How tall is Mia?",
                     "A parcel was not scanned for two days. What should I do?"):  # fmt: skip
        hits = memory.search(question)
        print(question, "->", hits[0].text if hits else "not known")
