"""A PostgreSQL server of one's own: in a temporary folder, on this machine, gone at the end."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

SETTINGS = ("shared_buffers=8MB", "max_connections=60", "autovacuum=off")


def programs():
    """Return the folder of PostgreSQL's programs, None where there is none."""
    found = [path for path in [shutil.which("initdb")] if path]
    found += sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")))
    return Path(found[0]).resolve().parent if found else None


def free_port():
    """Return a port of the loopback interface that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        return own.getsockname()[1]


def unprivileged():
    """Return how to run a program as somebody who is not root, which the server insists on."""
    if os.getuid():
        return {}
    import pwd  # there is none on Windows

    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


class LocalServer:
    """A server whose superuser is called "owner"; anybody who reaches it is let in.

    It listens on a socket in its folder and on a `port` of the loopback interface.
    """

    def __init__(self, folder, *settings):
        self.folder, self.data, self.settings = Path(folder), Path(folder) / "data", settings
        self.port = free_port()
        init = [programs() / "initdb", "-D", self.data, "-U", "owner", "-A", "trust", "-N"]
        done = [*init, "-E", "UTF8", "--no-locale"]
        subprocess.run(done, check=True, stdout=-3, timeout=60, **unprivileged())
        self.start()

    def address(self, ledger="skdp", user="owner"):
        return f"postgresql://{user}@/postgres?host={self.folder}&port={self.port}&ledger={ledger}"

    def address_at(self, port, ledger="skdp", user="owner"):
        """Return an address on the loopback interface: of this server, a pooler or a proxy."""
        return (
            f"postgresql://{user}@127.0.0.1:{port}/postgres"
            f"?sslmode=disable&gssencmode=disable&ledger={ledger}"
        )

    def connect(self, user="owner"):
        """Return a connection to look at things, and change them, behind a ledger's back."""
        import psycopg

        return psycopg.connect(
            host=str(self.folder), port=self.port, user=user, dbname="postgres", autocommit=True
        )

    def start(self):
        """Start the server; what runs on of one that was killed keeps it from starting at first."""
        for _ in range(20):
            self._launch()
            if self.answers():
                return
            time.sleep(0.2)
        raise RuntimeError((self.folder / "log").read_text())

    def _launch(self):
        settings = ("listen_addresses=127.0.0.1", f"port={self.port}")
        settings += (f"unix_socket_directories={self.folder}",)
        options = [word for name in (*settings, *SETTINGS, *self.settings) for word in ("-c", name)]
        with open(self.folder / "log", "a") as log:
            command = [programs() / "postgres", "-D", self.data, *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **unprivileged())

    def stop(self, how=signal.SIGQUIT):
        """Stop the server and all that it runs; with SIGKILL, before it can say a word.

        A session of a killed server runs on for a moment, in which it may still commit.
        """
        sessions = self._children() if how == signal.SIGKILL else []
        self.process.send_signal(how)
        for pid in sessions:
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        self.process.wait(60)

    def _children(self):
        command = ["pgrep", "-P", str(self.process.pid)]
        found = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        return [int(pid) for pid in found.split()]

    def answers(self):
        """Return whether somebody can connect, once that is so or the server has given up."""
        import psycopg

        while self.process.poll() is None:
            with suppress(psycopg.OperationalError):
                self.connect().close()
                return True
            time.sleep(0.05)
        return False


@contextmanager
def local_server(*settings, folder=None):
    """Lend a server and remove it; `folder` is where its own folder is made."""
    with tempfile.TemporaryDirectory(prefix="skdp-pg-", dir=folder) as folder:
        if not os.getuid():
            shutil.chown(folder, "nobody")
        server = LocalServer(folder, *settings)
        try:
            yield server
        finally:
            server.stop()
