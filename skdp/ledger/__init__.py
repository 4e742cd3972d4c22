"""Storage of a budget, in SQLite or PostgreSQL: one row a release, one transaction a spend."""
