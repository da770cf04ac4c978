from recollect import Recollect

with Recollect() as r:
    r.add("The Atlas team keeps its data in PostgreSQL.", created_at="2026-02-03")
    r.add("Borealis, the second team, runs on MongoDB.", created_at="2026-02-04")
    r.add("Karen is my boss.", created_at="2026-01-12")
    r.add("Karen left, so Mike is my boss now.", created_at="2026-06-01")
    r.library.add(b"# Watering\n\nThe greenhouse is watered on Tuesdays.\n", name="greenhouse.md")

    for question in (
        "Who is my boss?",
        "Compare the databases of Atlas and Borealis",
        "When is the greenhouse watered?",
        "What is Mike's birthday?",
    ):
        answer = r.ask(question)
        print(f"{question}\n{answer}\n")

    print(answer.found, [citation.place for citation in r.ask("When is the greenhouse watered?").citations])
