"""What the gallery runs fails on a warning, as a test does."""

import warnings

_before = list(warnings.filters)


def reset_warnings(gallery_conf: dict, path: str, when: str) -> None:
    """Turn warnings into errors before an example, and back after it."""
    global _before
    if when == "before":
        _before = list(warnings.filters)
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*non-interactive.*")  # what plt.show says here
    else:
        warnings.filters[:] = _before
