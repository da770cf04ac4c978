"""The oracle: a problem in, an answer with checked citations out, read from documents and code.

`consult.py` is the way through: gather, measure, decide, run, synthesise, verify, record. The material and its tools
are `library/`, the loop is `runs/`.
"""
