"""Who decides what a run does next: `learned.py` without a language model, `model.py` with one, `replay.py` records."""
