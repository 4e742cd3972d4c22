"""The δ of a release that states none, and the δ that is large."""

DEFAULT_DELTA = 1e-5
"""The δ of a release that has neither a delta nor a budget."""

LARGE_DELTA = 1e-3
"""The δ above which a budget or a release warns."""
