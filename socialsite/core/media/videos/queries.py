"""Read videos: each person their own, and figures for operators."""

from collections.abc import Sequence

from django.db.models import Count, Min

from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.media.videos import shown
from socialsite.core.models import Video

DAY_MS = 24 * 60 * 60 * 1000


def own(owner_id: int, ident: int) -> Video | None:
    """Return a video of a person, None if they have none with this id."""
    rows = Video.objects.select_related("media")
    return rows.filter(pk=ident, media__owner_id=owner_id).first()


def by_ids(owner_id: int, idents: Sequence[int]) -> dict[int, shown.OwnVideo]:
    """Return those of these videos that a person uploaded, by their ids."""
    if not idents:
        return {}
    rows = Video.objects.select_related("media").filter(pk__in=idents, media__owner_id=owner_id)
    return {video.pk: shown.own(video) for video in rows}


def progress(owner_id: int, ident: int) -> shown.OwnVideo:
    """Return a person's video with its progress. Raises NotFound."""
    video = own(owner_id, ident)
    if video is None:
        raise NotFound
    return shown.own(video)


def waiting() -> tuple[int, int]:
    """Return how many videos wait or are processed, and the age of the oldest in milliseconds."""
    rows = Video.objects.filter(state=Video.State.PROCESSING)
    found = rows.aggregate(count=Count("pk"), first=Min("uploaded_at"))
    age = 0 if found["first"] is None else max(0, db.now_ms() - found["first"])
    return found["count"], age


def failed_since_yesterday() -> dict[str, int]:
    """Return how many videos failed within the last day, by the reason."""
    rows = Video.objects.filter(state=Video.State.FAILED, finished_at__gt=db.now_ms() - DAY_MS)
    counts = rows.order_by().values("failure").annotate(count=Count("pk"))
    return {row["failure"]: row["count"] for row in counts}
