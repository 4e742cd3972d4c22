"""What may happen to clients, servers, poolers, networks and disks while somebody spends."""

import os
import resource
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path


class Hazard:
    """Strikes at random moments; `calm` ends what lasts."""

    pause = 0.4  # mean number of seconds between two strikes

    def strike(self, crowd, rng):
        """Do it once, to a crowd of spenders, with a random source."""

    def calm(self):
        """Put everything back in order."""


class Signal(Hazard):
    """Sends a signal to one of the clients."""

    def __init__(self, number):
        self.number = number

    def strike(self, crowd, rng):
        crowd.send(self.number, rng)


class EndedSessions(Hazard):
    """Ends sessions from the server's side, at random."""

    def __init__(self, server):
        self.server = server

    def strike(self, crowd, rng):
        query = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < %s"
        )
        with suppress(Exception), self.server.connect() as own:
            own.execute(query, (rng.choice([0.3, 1.0]),))


class Killed(Hazard):
    """Kills a server or a pooler with SIGKILL and starts it again."""

    pause = 1.5  # so that there is time to spend in between

    def __init__(self, program):
        self.program = program

    def strike(self, crowd, rng):
        self.program.stop(signal.SIGKILL)
        time.sleep(rng.uniform(0.0, 0.3))
        self.program.start()


class CutNetwork(Hazard):
    """Cuts all connections, sometimes after the answers of the server were lost."""

    def __init__(self, network):
        self.network = network

    def strike(self, crowd, rng):
        if rng.random() < 0.5:
            self.network.swallow()
            time.sleep(rng.uniform(0.0, 0.1))
        self.network.cut()
        self.network.swallow(False)


class HeldNetwork(Hazard):
    """Holds all traffic for a while, and sometimes cuts it then."""

    def __init__(self, network):
        self.network = network

    def strike(self, crowd, rng):
        self.network.hold()
        time.sleep(rng.uniform(0.0, 1.0))
        if rng.random() < 0.3:
            self.network.cut()
        self.network.release()

    def calm(self):
        self.network.release()


class RepeatedNetwork(Hazard):
    """Repeats whole conversations over new connections, and single pieces within one."""

    def __init__(self, network):
        self.network = network

    def strike(self, crowd, rng):
        if rng.random() < 0.5:
            self.network.replay(0.3)
        else:
            self.network.repeat_piece()


class FullDisk(Hazard):
    """Fills the file system of a folder, and makes room again."""

    def __init__(self, folder):
        self.filler = Path(folder) / "filler"

    def strike(self, crowd, rng):
        with suppress(OSError), open(self.filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        time.sleep(rng.uniform(0.0, 0.3))
        self.calm()

    def calm(self):
        self.filler.unlink(missing_ok=True)


class FullServer(FullDisk):
    """Fills the disk of a server, which may end, and is started again when there is room."""

    def __init__(self, folder, server):
        super().__init__(folder)
        self.server = server

    def calm(self):
        super().calm()
        if not self.server.answers():
            with suppress(Exception):
                self.server.stop(signal.SIGKILL)
            self.server.start()


class LimitedFiles(Hazard):
    """Lets clients write no file beyond its present size, as on a full disk."""

    def strike(self, crowd, rng):
        self._limit(crowd, 1024)  # pages of the ledger are beyond, diaries may be
        time.sleep(rng.uniform(0.0, 0.2))
        self._limit(crowd, resource.RLIM_INFINITY)

    def _limit(self, crowd, size):
        for process in crowd.alive():
            with suppress(OSError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class ReadOnlyFile(Hazard):
    """Takes away and gives back the right to write a file."""

    def __init__(self, path):
        self.path = Path(path)

    def strike(self, crowd, rng):
        self.path.chmod(0o444)
        time.sleep(rng.uniform(0.0, 0.2))
        self.calm()

    def calm(self):
        if self.path.exists():
            self.path.chmod(0o644)


class SlowDisk(Hazard):
    """Makes each flush of a client take long, where `slow_flushes` is loaded."""

    def __init__(self, switch):
        self.switch = Path(switch)

    def strike(self, crowd, rng):
        self.switch.touch()
        time.sleep(rng.uniform(0.2, 0.6))
        crowd.send(signal.SIGKILL, rng)
        self.calm()

    def calm(self):
        self.switch.unlink(missing_ok=True)


SLOW_FLUSHES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_if_slow(void) {
    const char *path = getenv("SKDP_SLOW_DISK");
    if (path && !access(path, F_OK)) usleep(30000);
}
int fsync(int file) {
    wait_if_slow();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int fdatasync(int file) {
    wait_if_slow();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"""


def slow_flushes(folder):
    """Compile a library that delays flushes while a file exists; None without a C compiler."""
    source, library = Path(folder) / "slow.c", Path(folder) / "slow.so"
    source.write_text(SLOW_FLUSHES)
    command = ["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


def tiny_disk(folder, size):
    """Mount a file system of this size; return whether that was possible."""
    Path(folder).mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", str(folder)]
    try:
        return not subprocess.run(command, capture_output=True).returncode
    except OSError:
        return False


def unmount(folder):
    """Take a mounted file system away, if it is one."""
    if os.path.ismount(folder):
        subprocess.run(["umount", "-l", str(folder)], check=True)
