"""One engine for every question that one look does not answer.

An *environment* offers tools over some material, a *planner* says which to call next, the *engine* runs the loop within
a *budget*, answers repeats from the *cache*, writes the *trajectory* and tells subscribers what happens. Nothing here
knows memories, documents or code: those bring an environment (`environment.py` is the contract).
"""
