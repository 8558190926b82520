"""A post in a frame of another site, and the page with the code for it.

Only posts that guests may read can be embedded.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from accounts.request_auth.requests import PageRequest
from feeds import queries
from feeds.cards import repost_grouping
from feeds.cards.card import Card
from feeds.content.plain_text import plain_of
from feeds.models import OPEN
from socialsite.core import errors, site
from socialsite.core.http import api, content_policy
from socialsite.core.requests.request_budgets import READS, takes

# Pixels of the frame: its width, and the height of its parts.
WIDTH, FRAME, LINE, TITLE, PICTURES, VIDEO, QUOTE = 550, 170, 26, 40, 360, 100, 200
OPTION = 40
LINES_MAX, LINE_LENGTH = 10, 45
CODE = (
    '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy" '
    'style="max-width: 100%; border: 0"></iframe>'
)


@require_safe
@conditional_page
@takes(GET=READS)
def post_embed(request: PageRequest, post_id: str) -> HttpResponse:
    """One public post as guests see it, without scripts; a cache must ask each time.

    `socialsite.pages.embeds` removes the cookies of the request, and allows the frame.
    """
    post = repost_grouping.shown_by(queries.post(None, api.parse_id(post_id)))
    context = {"post": post, "address": request.build_absolute_uri(_page_of(post["id"]))}
    answer = render(request, "feeds/embeds/embed.html", context)
    answer.headers["Cache-Control"] = "no-cache"
    return answer


@require_safe
@takes(GET=READS)
def post_embed_code(request: PageRequest, post_id: str) -> HttpResponse:
    """The code that embeds a post, and how it looks; NotFound unless guests see the post."""
    card = queries.post(request.user, api.parse_id(post_id))
    if card["visibility"] not in OPEN:
        raise errors.NotFound
    context = {
        "page": _page_of(card["id"]),
        "frame": reverse("post_embed", args=[card["id"]]),
        "label": label_of(card),
        # A plain text, which the template escapes once more: the field shows the HTML.
        "code": code_of(request, card, WIDTH, height_of(card)),
        "width": WIDTH,
        "height": height_of(card),
    }
    answer = render(request, "feeds/embeds/code.html", context)
    answer.headers["Content-Security-Policy"] = content_policy.PREVIEW
    return answer


def label_of(card: Card) -> str:
    """Return the name of the frame of a post."""
    name = card["author"]["nickname"] or card["author"]["username"]
    return _("Post by %(name)s on %(site)s") % {"name": name, "site": site.current().name}


def code_of(request: HttpRequest, card: Card, width: int, height: int) -> str:
    """Return the HTML of the frame of a post."""
    frame = request.build_absolute_uri(reverse("post_embed", args=[card["id"]]))
    return format_html(CODE, frame, label_of(card), width, height) + ""


def _page_of(post_id: str) -> str:
    return reverse("post", args=[post_id])


def height_of(card: Card) -> int:
    """Return about how high the page in the frame is; the frame scrolls if it is higher."""
    post = repost_grouping.shown_by(card)
    lines = sum(1 + len(line) // LINE_LENGTH for line in plain_of(post).splitlines())
    parts = {
        TITLE: post["title"],
        PICTURES: post["images"] or post["video"],
        VIDEO: post["video_url"],
        QUOTE: post["kind"] == repost_grouping.REPOST,
    }
    more = sum(pixels for pixels, is_there in parts.items() if is_there)
    if post["poll"] is not None:
        more += OPTION * len(post["poll"]["options"])
    return FRAME + LINE * min(lines, LINES_MAX) + more
