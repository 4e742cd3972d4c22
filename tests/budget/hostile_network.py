"""A TCP proxy that cuts, holds, swallows and repeats what it carries."""

import asyncio
import threading
from contextlib import contextmanager, suppress

_HOST = "127.0.0.1"


class _Link:
    """A client, its connection to the server, and all that the client has sent."""

    def __init__(self, client, server):
        self.client, self.server, self.sent = client, server, bytearray()

    def cut(self):
        """End both connections at once, with what is still under way."""
        for writer in (self.client, self.server):
            writer.transport.abort()


class HostileNetwork:
    """A proxy in front of a port of this machine; its methods may be called from any thread."""

    def __init__(self, target):
        self.target, self._links = target, set()
        self._deaf = False  # whether answers of the server are thrown away
        self._twice = 0  # how many pieces from clients are sent twice
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = self._do(self._listen())

    def cut(self):
        """End all connections."""
        self._call(self._cut)

    def hold(self):
        """Carry nothing until `release`; connections stay open."""
        self._call(self._flows.clear)

    def release(self):
        self._call(self._flows.set)

    def swallow(self, deaf=True):
        """Carry what clients send and throw the answers away, until told otherwise."""
        self._call(lambda: setattr(self, "_deaf", deaf))

    def repeat_piece(self):
        """Send the next piece from a client twice within its connection."""
        self._call(lambda: setattr(self, "_twice", 1))

    def replay(self, seconds=0.5):
        """Send all that the clients have sent once more, over new connections."""
        self._do(self._replay(seconds))

    def close(self):
        self._call(self._cut)
        self._call(self._server.close)
        self._do(asyncio.sleep(0.01))
        self._call(self._loop.stop)
        self._thread.join(10)

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def _call(self, action):
        self._loop.call_soon_threadsafe(action)

    def _cut(self):
        for link in [*self._links]:
            link.cut()

    async def _listen(self):
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = await asyncio.start_server(self._carry, _HOST, 0)
        return self._server.sockets[0].getsockname()[1]

    async def _carry(self, from_client, to_client):
        try:
            from_server, to_server = await asyncio.open_connection(_HOST, self.target)
        except OSError:
            to_client.transport.abort()
            return
        link = _Link(to_client, to_server)
        self._links.add(link)
        try:
            await asyncio.gather(
                self._forth(link, from_client, to_server), self._back(from_server, to_client)
            )
        except OSError:
            pass
        finally:
            link.cut()
            self._links.discard(link)

    async def _forth(self, link, source, sink):
        while piece := await source.read(65536):
            await self._flows.wait()
            link.sent += piece
            sink.write(piece)
            if self._twice:
                self._twice -= 1
                sink.write(piece)
            await sink.drain()
        raise ConnectionError

    async def _back(self, source, sink):
        while piece := await source.read(65536):
            await self._flows.wait()
            if not self._deaf:
                sink.write(piece)
                await sink.drain()
        raise ConnectionError

    async def _replay(self, seconds):
        copies = [bytes(link.sent) for link in self._links]
        await asyncio.gather(*(self._send_once_more(copy, seconds) for copy in copies))

    async def _send_once_more(self, sent, seconds):
        with suppress(OSError, TimeoutError):
            source, sink = await asyncio.open_connection(_HOST, self.target)
            try:
                sink.write(sent)
                await asyncio.wait_for(source.read(-1), seconds)
            finally:
                sink.transport.abort()


@contextmanager
def hostile_network(target):
    """Lend a proxy in front of a port."""
    network = HostileNetwork(target)
    try:
        yield network
    finally:
        network.close()
