"""The place in the user's code that a warning is about."""

from __future__ import annotations

import sys

__all__ = ["caller_outside"]


def caller_outside() -> int:
    """Return the stacklevel, for the calling function, of the first frame outside skdp."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("skdp."):
        frame, level = frame.f_back, level + 1
    return level
