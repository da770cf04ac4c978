"""Lets the tests of this folder import their toy environment, `rooms.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
