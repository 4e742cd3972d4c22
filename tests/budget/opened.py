"""What a budget has open: its connection to a file, its session on a server."""

from contextlib import contextmanager

from skdp.ledger.gate import gate


@contextmanager
def connection_of(budget):
    """Lend this thread's connection to a ledger in a file."""
    yield budget._ledger.storage.read(lambda tables: tables.connection)


@contextmanager
def session_of(budget):
    """Lend this thread's session of a ledger on a server; unqualified names are the ledger's."""
    session = budget._ledger.storage.read(lambda own: own)
    session.connection.execute(f'SET search_path = "{session.ledger}"')
    yield session


def close_connections():
    """Close all connections of this process to ledgers, as a fork does."""
    gate.before_fork()
    gate.after_fork()
