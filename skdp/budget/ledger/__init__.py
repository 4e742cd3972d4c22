"""Storage of a budget: one SQLite file, one line a release, one transaction a spend."""
