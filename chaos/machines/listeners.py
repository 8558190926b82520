"""People whose WebSockets stay open, and come back after a restart as pages do."""

import random
import threading
import time
from collections import Counter

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from chaos.machines.visitor import Visitor

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
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def start(self) -> None:
        """Connect."""
        self._thread.start()

    def stop(self) -> None:
        """Disconnect."""
        self._stop.set()
        self._thread.join()

    def _listen(self) -> None:
        wait = (0.0, 0.0)
        while not self._stop.wait(self._dice.uniform(*wait)):
            try:
                with self._connect() as connection:
                    self.returns.append(time.time())
                    self.is_open = True
                    self._hear(connection)
                return
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                self.closes[code] += 1
                self.is_open = False
                wait = RETURN_SECONDS if code == RESTART else RETRY_SECONDS
            except (OSError, InvalidHandshake) as error:
                self.refusals.append(f"{time.time():.1f} {error!r}")
                wait = RETRY_SECONDS

    def _connect(self) -> ClientConnection:
        return connect(
            f"wss://{self.person.domain}/ws/session/",
            sock=self.person.dial(443),
            ssl=self.person.context,
            server_hostname=self.person.domain,
            additional_headers={"Authorization": f"Bearer {self.person.token}"},
        )

    def _hear(self, connection: ClientConnection) -> None:
        while not self._stop.is_set():
            try:
                connection.recv(timeout=RECEIVE_SECONDS)
                self.hints += 1
            except TimeoutError:
                continue
