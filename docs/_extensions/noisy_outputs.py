"""The flag NOISY of an example on a page: numbers may differ, what is between them may not.

A page shows what one run printed. The next run has other noise, and so other numbers.
"""

import doctest
import re

NOISY = doctest.register_optionflag("NOISY")
NUMBER = re.compile(r"[-+]?\b\d+(?:\.\d*)?(?:e[-+]?\d+)?")


class NoisyChecker(doctest.OutputChecker):
    """A checker that compares a noisy output with its numbers and blanks leveled out."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Compare as doctest does, after the numbers of a noisy example."""
        if optionflags & NOISY:
            want, got = leveled(want), leveled(got)
        return super().check_output(want, got, optionflags)


def leveled(text: str) -> str:
    """Write each number as 0, and leave out blanks and lines, which follow from its width."""
    return re.sub(r"[ \t─━-]+", "", NUMBER.sub("0", text))


def setup(app) -> dict:
    """Let the examples of pages use the flag."""
    doctest.OutputChecker = NoisyChecker
    return {"parallel_read_safe": True, "parallel_write_safe": True}
