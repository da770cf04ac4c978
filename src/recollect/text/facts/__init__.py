"""Facts in sentences: read by rule, compared by rule.

`read_facts` gives every statement of a text and why the rest has none, `read_fact` the only statement a text makes,
`relate` what a new statement does to a known fact. All of it is pure; storing is memories/supersession.py.
"""

from recollect.text.facts.reader import read_fact, read_facts
from recollect.text.facts.relation import Known, Relation, Verdict, relate
from recollect.text.facts.statement import Reading, Skipped, Statement

__all__ = [
    "Known",
    "Reading",
    "Relation",
    "Skipped",
    "Statement",
    "Verdict",
    "read_fact",
    "read_facts",
    "relate",
]
