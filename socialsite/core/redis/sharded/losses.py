"""For how long this process has known what rows lost: no clock of a database is asked.

Who began to read the rows after that knows it too. So everybody does after PERMIT_SECONDS.
"""

import math
import time
from collections.abc import Collection, Iterable

from socialsite.core.redis.sharded.ledger import Row


class Losses:
    """When this process first saw each loss, by the row's id and the loss's stamp (monotonic)."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], float] = {}

    def seconds(self, rows: Iterable[Row]) -> float:
        """Return the seconds since the newest of some losses was seen; infinity if there is none.

        The rows must have been read, or committed, before.
        """
        now = time.monotonic()
        seen = (self._seen.setdefault(_key(one), now) for one in rows if one.lost_ms)
        return now - max(seen, default=-math.inf)

    def note(self, rows: Collection[Row]) -> None:
        """Remember the losses of all rows, and forget those that are over."""
        self.seconds(rows)
        keys = {_key(one) for one in rows}
        self._seen = {key: at for key, at in [*self._seen.items()] if key in keys}


def _key(row: Row) -> tuple[str, int]:
    return row.replid, row.lost_ms
