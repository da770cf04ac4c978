from datetime import UTC, datetime

from recollect.text.complexity import read_signals
from recollect.text.facts import read_facts
from recollect.text.names import find_names
from recollect.text.sentences import split_sentences
from recollect.text.terms import code_terms, query_terms, terms
from recollect.text.times import find_times

now = datetime(2026, 5, 23, 12, tzinfo=UTC)

print(split_sentences("Dr. Silva left at 3 p.m. sharp. Who is next?"))

print(terms("The deployments of src/login.py"))
print(query_terms("Which deployments, which files?"))
print(code_terms("parseHTTPRequest(user_id)"))

for time in find_times("the week before last, or in March", now=now):
    print(f"{time.phrase}: {time.start:%d %b} to {time.end:%d %b}")

print([name.text for name in find_names("Ana met Dr. Ben Okafor at Acme Corp about ABC-123")])

reading = read_facts("I live in Porto. Tom thinks I should move.", speaker="Ana", now=now)
for fact in reading.statements:
    print(fact.subject, "|", fact.predicate, "|", fact.object)
for sentence in reading.skipped:
    print(sentence.sentence, "->", sentence.reason)

print(read_signals("Compare how every team handles errors").computed_score)
