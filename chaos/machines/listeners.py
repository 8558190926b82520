"""People whose WebSockets stay open, and come back after a restart as pages do.

Each has an event loop of its own in a thread: two threads at one TLS connection, as the library's
client without asyncio has, lose some handshakes in Python before 3.13.
"""

import asyncio
import random
import threading
import time
from collections import Counter

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from chaos.machines.visitor import Visitor

PATH = "/ws/session/"
RESTART = 1012
# As in static/js/session.js.
RETURN_SECONDS = (3.0, 30.0)
RETRY_SECONDS = (0.25, 1.0)
RECEIVE_SECONDS = 1.0


class Listener:
    """One socket: how it closed, when it came back (Unix seconds), and what it heard."""

    def __init__(self, person: Visitor, dice: random.Random) -> None:
        self.person, self._dice = person, dice
        self.closes = Counter[int]()
        self.returns: list[float] = []
        self.refusals: list[str] = []
        self.hints = 0
        self.is_open = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._listen()), daemon=True)

    def start(self) -> None:
        """Connect."""
        self._thread.start()

    def stop(self) -> None:
        """Disconnect."""
        self._stop.set()
        self._thread.join()

    async def _listen(self) -> None:
        wait = (0.0, 0.0)
        while not self._stop.wait(self._dice.uniform(*wait)):
            try:
                async with self.person.websocket(PATH) as connection:
                    self.returns.append(time.time())
                    self.is_open = True
                    await self._hear(connection)
                return
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                self.closes[code] += 1
                self.is_open = False
                wait = RETURN_SECONDS if code == RESTART else RETRY_SECONDS
            except (OSError, InvalidHandshake) as error:
                self.refusals.append(f"{time.time():.1f} {error!r}")
                wait = RETRY_SECONDS

    async def _hear(self, connection: ClientConnection) -> None:
        while not self._stop.is_set():
            try:
                async with asyncio.timeout(RECEIVE_SECONDS):
                    await connection.recv()
                self.hints += 1
            except TimeoutError:
                continue
