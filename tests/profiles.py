"""How many examples property tests try: few while one works, all of them in `.ci/run`.

Hypothesis' profile `everyday` is the default; `CI=true` or `HYPOTHESIS_PROFILE=thorough` asks for everything.
"""

from __future__ import annotations

import os

from hypothesis import settings

#: What a property gets by default.
EVERYDAY = 25


def load_profile() -> None:
    """Choose how thorough this run is; before any test module is imported, for its decorators ask."""
    # No deadline: how long an example takes says more of the machine than of the code.
    settings.register_profile("everyday", max_examples=EVERYDAY, deadline=None)
    settings.register_profile("thorough", deadline=None)
    wanted = os.environ.get("HYPOTHESIS_PROFILE")
    settings.load_profile(wanted or ("thorough" if os.environ.get("CI") else "everyday"))


def examples(thorough: int) -> int:
    """The number of examples for a property that needs another number than hypothesis' hundred."""
    return min(thorough, EVERYDAY) if settings.get_current_profile_name() == "everyday" else thorough
