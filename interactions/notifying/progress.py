"""The progress of a fact that affects more notifications than one transaction updates."""

from interactions.events import NotificationsBehind
from socialsite.core.events import publish

# The last values of two columns and, within the groups after that, the last cause.
Place = tuple[int, int, int]
START: Place = (0, 0, 0)


def publish_rest(work: str, about: list[int | None], place: Place | None) -> None:
    """Publish the event that continues after a place; nothing for None, the end."""
    if place is not None:
        publish(NotificationsBehind(id=about[0] or 0, work=work, about=about, after=[*place]))
