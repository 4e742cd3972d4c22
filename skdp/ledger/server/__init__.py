"""A ledger in PostgreSQL, for threads, processes and machines; needs psycopg."""
