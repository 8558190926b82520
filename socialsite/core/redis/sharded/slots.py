"""Sets of hash slots, and their text in a row of the database: "0-5460,7000"."""

from collections.abc import Iterator
from functools import lru_cache

Slots = frozenset[int]
NONE: Slots = frozenset()
# Stands for all keys of a server that is no node of a cluster. Its text is empty, as the rows of
# versions that knew no slots: in a cluster such a row covers no slot.
WHOLE = -1


@lru_cache(maxsize=64)
def slots_of(text: str) -> Slots:
    """Return the slots of a text of ranges; WHOLE alone for an empty text."""
    if not text:
        return frozenset([WHOLE])
    parts = (part.partition("-") for part in text.split(","))
    return frozenset(
        slot for first, _, last in parts for slot in range(int(first), int(last or first) + 1)
    )


def text_of(slots: Slots) -> str:
    """Return slots as a text of ranges."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _ranges(slots)
    )


def _ranges(slots: Slots) -> Iterator[tuple[int, int]]:
    ordered = sorted(slots - {WHOLE})
    firsts = [slot for slot in ordered if slot - 1 not in slots or slot == 0]
    lasts = [slot for slot in ordered if slot + 1 not in slots]
    return zip(firsts, lasts, strict=True)
