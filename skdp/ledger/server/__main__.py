"""Prints the SQL that gives two roles their rights on a ledger, for its owner to run.

Usage: python -m skdp.ledger.server LEDGER SPEND AUDIT | psql postgresql://owner@host/database
"""

import sys

from skdp.ledger.server.functions import grants

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(grants(*sys.argv[1:]), end="")
