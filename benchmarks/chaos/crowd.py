"""Several spenders at once; who is killed is replaced until the ledgers are full."""

import multiprocessing
import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from spender import spend_until_full

_PATIENCE = 300.0  # seconds without a single spend, after which a storm has failed


def _forkserver():
    """Return a source of processes that have imported everything already, so they start fast."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["spender", "skdp.ledger.server.storage"])
    return context


class Crowd:
    """Processes that spend from some places, each until its ledger is full."""

    def __init__(self, places, room, n_clients, diaries):
        self.places, self.room, self.diaries = places, room, diaries
        self._context = _forkserver()
        self._names, self._clients = count(), {}
        self._changed, self.size = time.monotonic(), 0
        for i in range(n_clients):
            self._send_in(i % len(places))

    def _send_in(self, which):
        name = f"{which}.{next(self._names)}"
        diary = self.diaries[which] / name
        arguments = self.places[which], self.room, name, diary
        process = self._context.Process(target=spend_until_full, args=arguments, daemon=True)
        process.start()
        self._clients[process] = which

    def alive(self):
        return [process for process in self._clients if process.is_alive()]

    def send(self, number, rng):
        """Send a signal to one client."""
        if alive := self.alive():
            with suppress(ProcessLookupError):
                os.kill(rng.choice(alive).pid, number)

    def is_done(self):
        """Replace who was killed; return whether all others have found their ledgers full."""
        for process, which in [*self._clients.items()]:
            if process.exitcode:
                del self._clients[process]
                self._send_in(which)
        self._check_progress()
        return all(process.exitcode == 0 for process in self._clients)

    def _check_progress(self):
        size = sum(path.stat().st_size for folder in self.diaries for path in folder.iterdir())
        if size != self.size:
            self._changed, self.size = time.monotonic(), size
        if time.monotonic() - self._changed > _PATIENCE:
            raise RuntimeError("no process has spent anything for a long time")

    def close(self):
        for process in self._clients:
            process.kill()
            process.join()
