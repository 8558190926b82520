"""The parts of a video that posts and programs show."""

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from socialsite.core.media import pictures
from socialsite.core.media.videos import captions, failures
from socialsite.core.models import Media, Video

State = Video.State


class ShownVideo(TypedDict):
    """A video of a post: `url` is "" until it is ready, `poster` "" until there is one.

    `placeholder` is that of the poster (`core.media.picture_placeholders`). Sides are in pixels, 0
    until they are known. `failure` says why it failed, "" otherwise.
    """

    id: str
    url: str
    poster: str
    placeholder: str
    alt: str
    captions: list[captions.Captions]
    width: int
    height: int
    seconds: float
    state: str
    failure: str


class OwnVideo(ShownVideo):
    """A video as the person who uploaded it sees it; `progress` in percent, `detail` in words."""

    progress: int
    detail: str


def entry_of(video: Video) -> dict[str, Any]:
    """Return what a post stores of a video."""
    item: Media = video.media
    return {
        "id": str(item.pk),
        "name": item.name,
        "poster": item.thumb_name,
        "placeholder": item.placeholder,
        "alt": item.alt,
        "captions": item.captions,
        "width": item.width,
        "height": item.height,
        "seconds": round(video.seconds, 2),
        "state": video.state,
        "failure": video.failure,
    }


def shown(entry: Mapping[str, Any]) -> ShownVideo:
    """Return what readers see, from what a post stores."""
    return ShownVideo(
        id=entry["id"],
        url=pictures.url_of(entry["name"]) if entry["state"] == State.READY else "",
        poster=pictures.url_of(entry["poster"]),
        # Posts from before have none of these.
        placeholder=entry.get("placeholder", ""),
        alt=entry.get("alt", ""),
        captions=captions.shown(entry.get("captions", [])),
        width=entry["width"],
        height=entry["height"],
        seconds=entry["seconds"],
        state=entry["state"],
        failure=entry["failure"],
    )


def own(video: Video) -> OwnVideo:
    """Return a video with its progress, for the person who uploaded it."""
    progress = 100 if video.state == State.READY else video.progress
    found: Any = shown(entry_of(video))
    more = {"progress": progress, "detail": failures.in_words(video.failure)}
    return cast("OwnVideo", found | more)
