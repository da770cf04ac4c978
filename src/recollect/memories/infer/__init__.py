"""`add(..., infer=True)`: store what was said, then derive facts from it, and say what was done and why.

Rules are always read. With a chat model set, `extraction` adds what rules can't read, checked against the
text; a model with a large window also replaces and retracts (`revision`). `derive` stores it. What a
derived fact does to older ones is memories/supersession.py.
"""

from recollect.memories.infer.derive import infer

__all__ = ["infer"]
