"""Frozen values and pure rules. Knows the standard library and `recollect.errors`, nothing else."""
