"""The storms: each is a place for a ledger, and what happens to those who spend from it."""

import random
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "budget"))

import hazards
from checker import Tally, check
from crowd import Crowd
from hazards import Killed, Signal
from hostile_network import hostile_network
from local_pooler import local_pooler, pooler_program
from local_server import local_server, programs

_WRITTEN = (100, 600)  # bytes of diaries between two strikes: 3 to 20 spends, on a busy machine too
ENDINGS = {"killed": signal.SIGKILL, "interrupted": signal.SIGINT, "asked to end": signal.SIGTERM}


class Impossible(RuntimeError):
    """This machine cannot make a storm."""


class Ground:
    """A folder for everything, and a server in it that is started when it is needed."""

    def __init__(self, folder, stack, slow_switch=None):
        self.folder, self._stack, self.slow_switch = Path(folder), stack, slow_switch
        self._server = None

    @property
    def server(self):
        if self._server is None:
            self._server = self._stack.enter_context(local_server(folder=self.folder))
        return self._server

    def file(self):
        return self.folder / f"{uuid4().hex}.db"


def _name():
    return f"storm_{uuid4().hex[:12]}"


@contextmanager
def clients_on_a_file(ground, ending):
    """Lend a file, with a signal to clients."""
    path = ground.file()
    yield [(path, path)], Signal(ENDINGS[ending])


@contextmanager
def clients_on_a_server(ground, ending):
    """Lend a ledger on a server, with a signal to clients."""
    address = ground.server.address(_name())
    yield [(address, address)], Signal(ENDINGS[ending])


@contextmanager
def full_disk(ground):
    """Lend a file on a small disk that is full at times."""
    disk = ground.folder / "disk"
    if not hazards.tiny_disk(disk, "3m"):
        raise Impossible("a file system cannot be mounted here")
    try:
        path = disk / "study.db"
        yield [(path, path)], hazards.FullDisk(disk)
    finally:
        hazards.unmount(disk)


@contextmanager
def limited_files(ground):
    """Lend a file, with clients that may write no longer files at times."""
    path = ground.file()
    yield [(path, path)], hazards.LimitedFiles()


@contextmanager
def read_only_file(ground):
    """Lend a file that is read-only at times."""
    path = ground.file()
    yield [(path, path)], hazards.ReadOnlyFile(path)


@contextmanager
def slow_disk(ground):
    """Lend a file whose flushes are slow at times."""
    path = ground.file()
    yield [(path, path)], hazards.SlowDisk(ground.slow_switch)


@contextmanager
def ended_sessions(ground):
    """Lend a ledger on a server that ends sessions."""
    address = ground.server.address(_name())
    yield [(address, address)], hazards.EndedSessions(ground.server)


@contextmanager
def killed_server(ground):
    """Lend a ledger on a server that is killed."""
    address = ground.server.address(_name())
    yield [(address, address)], Killed(ground.server)


@contextmanager
def full_server(ground):
    """Lend a ledger on a server whose disk is full at times."""
    disk = ground.folder / "server-disk"
    if not hazards.tiny_disk(disk, "160m"):
        raise Impossible("a file system cannot be mounted here")
    try:
        with local_server("max_wal_size=48MB", folder=disk) as server:
            address = server.address(_name())
            yield [(address, address)], hazards.FullServer(disk, server)
    finally:
        hazards.unmount(disk)


@contextmanager
def network(ground, hazard):
    """Lend a ledger on a server behind a hostile network."""
    server, ledger = ground.server, _name()
    with hostile_network(server.port) as proxy:
        yield [(server.address_at(proxy.port, ledger), server.address(ledger))], hazard(proxy)


@contextmanager
def pooler(ground, mode, kills_pooler):
    """Lend two ledgers of one database behind a pooler with fewer connections than clients."""
    server, ledgers = ground.server, [_name(), _name()]
    with local_pooler(server, mode) as own:
        places = [(own.address(ledger), server.address(ledger)) for ledger in ledgers]
        yield places, Killed(own) if kills_pooler else Signal(signal.SIGKILL)


def storms(ground):
    """Return the storms that this machine can make, by name."""
    found = {f"file, clients {ending}": (clients_on_a_file, ending) for ending in ENDINGS}
    found |= {"file, full disk": (full_disk,), "file, limited size": (limited_files,)}
    found |= {"file, read-only at times": (read_only_file,)}
    if ground.slow_switch is not None:
        found["file, slow disk and clients killed"] = (slow_disk,)
    if programs() is None:
        return found
    found |= {f"server, clients {ending}": (clients_on_a_server, ending) for ending in ENDINGS}
    found |= {"server, sessions ended": (ended_sessions,), "server killed": (killed_server,)}
    found |= {"server, full disk": (full_server,)}
    for name in ("Cut", "Held", "Repeated"):
        hazard = getattr(hazards, f"{name}Network")
        found[f"server, network {name.lower()}"] = (network, hazard)
    if pooler_program():
        for mode in ("session", "transaction"):
            found[f"pooler by {mode}, clients killed"] = (pooler, mode, False)
            found[f"pooler by {mode}, pooler killed"] = (pooler, mode, True)
    return found


def run(storm, ground, room, *, seed, n_clients=4, n_strikes=None):
    """Let some clients fill the ledgers of a storm, and return what was found."""
    make, *details = storm
    rng, diaries = random.Random(seed), []
    with make(ground, *details) as (places, hazard):
        for _ in places:
            diaries.append(ground.folder / f"diaries-{uuid4().hex}")
            diaries[-1].mkdir()
        each = room // len(places)
        crowd = Crowd([mine for mine, _ in places], each, n_clients, diaries)
        try:
            strikes = _strike(crowd, hazard, rng, n_strikes)
        finally:
            crowd.close()
        found = [
            check(truth, each, diary) for (_, truth), diary in zip(places, diaries, strict=True)
        ]
    tally = sum(found, Tally(strikes=strikes))
    return tally


def _strike(crowd, hazard, rng, n_strikes):
    """Strike again and again; return how often. In between somebody always spends something."""
    strikes, size = 0, 0
    while not crowd.is_done():
        time.sleep(rng.uniform(0.0, 2.0 * hazard.pause))
        if crowd.size < size + rng.uniform(*_WRITTEN):
            continue
        if n_strikes is None or strikes < n_strikes:
            hazard.strike(crowd, rng)
            strikes, size = strikes + 1, crowd.size
    hazard.calm()
    return strikes
