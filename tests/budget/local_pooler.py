"""A pgbouncer of one's own, between clients and a local server."""

import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from local_server import free_port, unprivileged

_SETTINGS = """
[databases]
postgres = host=127.0.0.1 port={server} dbname=postgres user={role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits,options
server_connect_timeout = 2
server_login_retry = 0
query_wait_timeout = 60
pidfile =
"""


def pooler_program():
    """Return pgbouncer's path, None where there is none."""
    return shutil.which("pgbouncer") or next(
        (path for path in ["/usr/sbin/pgbouncer"] if Path(path).exists()), None
    )


class LocalPooler:
    """A pooler that logs in as one role for all of its clients, whatever name they give."""

    def __init__(self, server, mode, size=3, role="owner"):
        self.server, self.mode, self.port = server, mode, free_port()
        self._file = server.folder / f"pooler-{self.port}.ini"
        values = {"server": server.port, "port": self.port, "mode": mode, "size": size}
        self._file.write_text(_SETTINGS.format(**values, role=role))
        self.start()

    def address(self, ledger="skdp", user="owner"):
        return self.server.address_at(self.port, ledger, user)

    def start(self):
        """Start the pooler, and return once it answers."""
        with open(self.server.folder / "pooler-log", "a") as log:
            command = [pooler_program(), self._file]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **unprivileged())
        for _ in range(200):
            if self._answers():
                return
            time.sleep(0.05)
        raise RuntimeError((self.server.folder / "pooler-log").read_text())

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(60)

    def _answers(self):
        import psycopg

        with suppress(psycopg.OperationalError):
            psycopg.connect(self.address().partition("&ledger=")[0]).close()
            return True
        return False


@contextmanager
def local_pooler(server, mode, **more):
    """Lend a pooler in this mode, ``"session"`` or ``"transaction"``."""
    pooler = LocalPooler(server, mode, **more)
    try:
        yield pooler
    finally:
        pooler.stop(signal.SIGKILL)
