"""The `recollect` command. Start at main.py; commands are cut along nouns, one module each."""
