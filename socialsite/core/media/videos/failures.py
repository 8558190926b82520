"""Reasons why a video is refused or failed, as stable names and in words."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import Text

BROKEN, TOO_LONG, TOO_BIG, NO_PICTURE = "broken", "too_long", "too_big", "no_picture"
TOO_SLOW, UNKNOWN_CODEC, NOT_PLAYABLE, CRASHED = "too_slow", "codec", "not_playable", "crashed"
LOCATED = "located"

# The largest picture of a video: 4K as phones and cameras record it.
MAX_PIXELS, MAX_SIDE = 9_000_000, 8192

TEXTS: dict[str, Text] = {
    BROKEN: _("This file is damaged, or it is not a video."),
    TOO_LONG: _("A video may last at most %(minutes)s minutes."),
    TOO_BIG: _("The picture of this video is too large. Videos up to 4K are accepted."),
    NO_PICTURE: _("This file has no moving picture."),
    TOO_SLOW: _("Preparing this video took too long. Try a shorter or smaller one."),
    UNKNOWN_CODEC: _("This video is in a format that the site cannot read."),
    NOT_PLAYABLE: _("Browsers cannot play this file. Choose an MP4 video with H.264 and AAC."),
    LOCATED: _("This file also records something besides picture and sound, such as places."),
    CRASHED: _("This video could not be prepared. You can upload it again."),
}


class Refused(Exception):
    """A video cannot be used; `reason` is a key of TEXTS."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def in_words(reason: str) -> str:
    """Return a reason in words, "" for none."""
    text = str(TEXTS.get(reason, TEXTS[CRASHED])) if reason else ""
    return text % {"minutes": f"{settings.VIDEO_SECONDS / 60:g}"} if "%(" in text else text
