"""The judge: whether a memory answers a question. `model` is the trained network and how a memory is put to it."""
