"""Faces of other packages over a store of Recollect, for programs that switch. Each imports nothing of the other."""
