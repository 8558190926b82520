"""The rules for the words of a post, for new posts and for edits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from feeds.content.plain_text import tags_of
from feeds.content.polls import definition
from feeds.content.polls.definition import Definition, Given
from feeds.models import Kind, PostContent, PostTag, Visibility
from socialsite.core import db, site
from socialsite.core.errors import InvalidInput, Text
from socialsite.core.media import pictures as media_pictures
from socialsite.core.media import video_links
from socialsite.core.models import SiteSettings
from socialsite.core.text import clean, one_line

# How each text of a post is kept.
KEPT = {"title": one_line, "note": clean, "content": clean}
_NO_VISIBILITY = gettext_lazy("Must be one of: %(choices)s.")

Wrong = dict[str, list[Text]]
# The kinds of posts that people write; a repost shows one of them.
WRITTEN = (Kind.MICRO, Kind.ARTICLE, Kind.VIDEO)
# The maximum length of the words of a repost, for other apps.
REPOST_MAX = PostContent.TEXT_MAX[Kind.REPOST]


def limits(kind: str, visibility: str, texts: Mapping[str, str], images: int) -> Wrong:
    """Return what is too long, too many or no choice, by field.

    `texts` has title, note and content.
    """
    wrong: Wrong = {}
    if kind not in WRITTEN:
        wrong["kind"] = [_("Must be micro, article or video.")]
        kind = Kind.MICRO
    if visibility not in Visibility.values:
        wrong["visibility"] = [_NO_VISIBILITY % {"choices": ", ".join(Visibility.values)}]
    wrong |= _of_texts(kind, texts)
    if images > PostContent.IMAGES_MAX:
        wrong["images"] = [_("At most %(limit)s pictures.") % {"limit": PostContent.IMAGES_MAX}]
    return wrong


def _most(kind: str, length: int) -> int:
    """Return how many characters fit into a post; the site sets the limit of short ones."""
    if kind == Kind.MICRO and length > SiteSettings.MICRO_LEAST:
        return site.current().limits.micro_max
    return PostContent.TEXT_MAX[kind]


def _of_texts(kind: str, texts: Mapping[str, str]) -> Wrong:
    wrong: Wrong = {}
    maxima = {
        "content": _most(kind, len(texts.get("content", ""))),
        "title": PostContent.TITLE_MAX,
        "note": PostContent.NOTE_MAX,
    }
    for field, limit in maxima.items():
        if len(texts.get(field, "")) > limit:
            wrong[field] = [_("At most %(limit)s characters.") % {"limit": limit}]
    if "content" not in wrong and len(tags_of(kind, texts["content"])) > PostTag.MOST:
        message = _("At most %(limit)s tags.") % {"limit": PostTag.MOST}
        wrong["content"] = [message]
    return wrong


def compose(
    *,
    content: str,
    kind: str,
    title: str,
    video_url: str,
    visibility: str,
    images: int,
    video: int | None = None,
    note: str = "",
    sensitive: bool = False,
    poll: Given | None = None,
    kept_poll: Definition | None = None,
    now: int | None = None,
) -> PostContent:
    """Return the words of a post as they would be kept; `images` is how many pictures it has,
    `video` the id of an uploaded video.

    `poll` is new at `now` (Unix ms, by default the database's clock), `kept_poll` that of the post.
    Raises InvalidInput as `publish` does: an entry asks before it stores pictures.
    """
    given = {"title": title, "note": note, "content": content}
    texts = {name: KEPT[name](text) for name, text in given.items()}
    words = PostContent(
        **texts, video_url=video_links.normal(video_url.strip()), sensitive=sensitive
    )
    wrong = limits(kind, visibility, texts, images)
    words.poll = kept_poll
    if poll is not None:
        words.poll, wrong["poll"] = _poll(poll, db.now_ms() if now is None else now)
    wrong = {field: messages for field, messages in wrong.items() if messages}
    kind = kind if kind in WRITTEN else Kind.MICRO
    if kind == Kind.MICRO and not (words.content or images or poll or kept_poll):
        wrong.setdefault("content", []).append(_("Write something or add a picture."))
    for field, message in _unfit(kind, words, video):
        wrong.setdefault(field, []).append(message)
    if wrong:
        raise InvalidInput(fields=wrong)
    return words


def _unfit(kind: str, words: PostContent, video: int | None) -> Iterator[tuple[str, Text]]:
    """Yield what a kind of post lacks or must not have, with its field."""
    if kind == Kind.ARTICLE and not words.title:
        yield "title", _("An article needs a title.")
    if kind == Kind.ARTICLE and not words.content:
        yield "content", _("An article needs a text.")
    if kind == Kind.VIDEO and not words.video_url and video is None:
        yield "video_url", _("Upload a video, or give its https address.")
    if words.video_url and not video_links.host_of(words.video_url):
        yield "video_url", _("A video needs an https address.")
    if words.video_url and video is not None:
        yield "video_url", _("Either upload a video or link to one.")
    if kind != Kind.VIDEO and video is not None:
        yield "video", _("Only a video post may have a video.")
    if kind != Kind.VIDEO and words.video_url:
        yield "video_url", _("Only a video may have a video address.")


def _poll(given: Given, now: int) -> tuple[Definition | None, list[Text]]:
    """Return the poll of a new post, or what is wrong with it."""
    tidy = definition.tidy(given)
    wrong = definition.flaws(tidy, now, whole=True)
    return (None if wrong else definition.definition_of(tidy, now)), wrong


def pictures_of(owner_id: int, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return a person's pictures as `PostContent.images` has them.

    Raises InvalidInput if one is not theirs.
    """
    return [PostContent.image_of(item) for item in media_pictures.by_ids(owner_id, ids)]


def check_visibility(visibility: str) -> None:
    """Raise InvalidInput if a word is no audience."""
    if visibility not in Visibility.values:
        message = _NO_VISIBILITY % {"choices": ", ".join(Visibility.values)}
        raise InvalidInput(fields={"visibility": [message]})


def words_of_repost(content: str) -> PostContent:
    """Return the words of a repost as they would be kept; raises InvalidInput (`content`)."""
    words = PostContent(content=clean(content))
    if wrong := _of_texts(Kind.REPOST, {"content": words.content}):
        raise InvalidInput(fields=wrong)
    return words
