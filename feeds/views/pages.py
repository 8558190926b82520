"""Pages of feeds: recommended, profile, post, edit and delete."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from feeds import actions, queries
from feeds.cards import repost_grouping
from feeds.cards.card import Card
from feeds.discovery import public_posts
from feeds.discovery.tags import queries as tag_queries
from feeds.drafts import actions as draft_actions
from feeds.models import Kind
from feeds.views import composer
from interactions import queries as interactions_queries
from relations import queries as relations_queries
from socialsite.core import errors
from socialsite.core.http import api, form_keys, page_sizes
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.models import Media
from socialsite.core.positions import Page, Position
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes

TAGS = 5


def shown_posts(request: PageRequest, page: Page[Card]) -> dict[str, Any]:
    """Return the context of a page of posts."""
    posts = interactions_queries.decorate(request.user, page.items)
    return {"posts": posts, "next": page.next, "top": top_of(posts)}


def top_of(posts: list[Card]) -> str:
    """Return the cursor of the page that begins with these posts, also when newer ones exist."""
    return Position(posts[0]["position"], int(posts[0]["id"]) + 1).encode() if posts else ""


def page_of(
    request: PageRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render the whole page, or for htmx asking for a further page only its part."""
    name = "feeds/_page.html" if is_part(request) else template
    return render(request, name, context, status=status)


def is_part(request: PageRequest) -> bool:
    """Whether htmx asks for a further page, of which only the items are shown."""
    return "cursor" in request.GET and bool(request.htmx)


@require_safe
@takes(GET=READS)
def recommended(request: PageRequest) -> HttpResponse:
    """Posts and people to discover, in tabs: recommended posts, those that rise now, new people.

    The first page of recommended posts has the tags in use.
    """
    tabs = [("posts", _("Recommended")), ("rising", _("Rising")), ("people", _("New people"))]
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(tabs) else "posts"
    cursor = api.cursor_of(request)
    context: dict[str, Any] = {"tab": tab, "tabs": tabs, "trending": [], "posts": [], "people": []}
    if tab != "posts":
        context["more"] = f"?tab={tab}&"
    if tab == "people":
        found = relations_queries.new_people(request.user, cursor, page_sizes.PAGE_SIZE)
        context |= {"people": found.items, "next": found.next}
        name = "relations/_page.html" if is_part(request) else "feeds/recommended.html"
        return render(request, name, context)
    if tab == "rising":
        page = interactions_queries.rising(request.user, cursor, page_sizes.PAGE_SIZE)
        context |= {"posts": page.items, "next": page.next}
    else:
        page = public_posts.recommended(request.user, cursor, page_sizes.PAGE_SIZE)
        context |= shown_posts(request, page)
        if cursor is None:
            context["trending"] = tag_queries.trending(request.user, TAGS)
    return page_of(request, "feeds/recommended.html", context)


@require_safe
@takes(GET=READS)
def profile(request: PageRequest, username: str) -> HttpResponse:
    """One person, and in tabs their posts, replies, media, and likes if they show them."""
    user = accounts_queries.by_name(username)
    person = relations_queries.profile(request.user, user)
    if person["relation"] in ("BLACKLISTING", "BI_BLACKLISTING"):
        bare: dict[str, Any] = {
            "profile": person | accounts_queries.bare_profile(),
            "posts": [],
            "next": None,
        }
        return render(request, "feeds/profile.html", bare | {"tab": "posts", "tabs": ()})
    person |= accounts_queries.profile_of(user)
    tabs = _tabs(request.user.pk == user.pk or user.likes_shown)
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(tabs) else "posts"
    page = _of_tab(request.user, user.pk, tab, api.cursor_of(request))
    person["counts"]["posts"] = queries.post_counts([user.pk]).get(user.pk, 0)
    context: dict[str, Any] = {"profile": person, "posts": page.items, "next": page.next}
    context |= {"tab": tab, "tabs": tabs}
    if tab in ("posts", "media"):
        context["top"] = top_of(page.items)
    if tab != "posts":
        context["more"] = f"?tab={tab}&"
    if tab == "replies" and is_part(request):
        return render(request, "feeds/_replies_page.html", context)
    return page_of(request, "feeds/profile.html", context)


def _tabs(with_likes: bool) -> list[tuple[str, str]]:
    """Return the tabs of a profile with their words."""
    tabs = [("posts", _("Posts")), ("replies", _("Posts and replies")), ("media", _("Media"))]
    return [*tabs, ("likes", _("Likes"))] if with_likes else tabs


def _of_tab(viewer: Any, person_id: int, tab: str, cursor: Position | None) -> Page[Any]:
    if tab == "replies":
        return interactions_queries.posts_and_replies(
            viewer, person_id, cursor, page_sizes.PAGE_SIZE
        )
    if tab == "likes":
        return interactions_queries.liked_posts(viewer, person_id, cursor, page_sizes.PAGE_SIZE)
    read = queries.media_posts if tab == "media" else queries.profile_posts
    page = read(viewer, person_id, cursor, page_sizes.PAGE_SIZE)
    return page.with_items(interactions_queries.decorate(viewer, page.items))


@require_safe
@takes(GET=READS)
def post(request: PageRequest, post_id: str) -> HttpResponse:
    """One post and its comments; a repost without words leads to its post, unless it has some."""
    ident = api.parse_id(post_id)
    card = interactions_queries.decorate(request.user, [queries.post(request.user, ident)])[0]
    shown = repost_grouping.shown_by(card)
    if shown is not card and not card["comment_count"]:
        return HttpResponseRedirect(reverse("post", args=[shown["id"]]))
    cursor = api.cursor_of(request)
    sort: interactions_queries.Sort = "new" if request.GET.get("sort") == "new" else "hot"
    found, status = interactions_queries.discussion_below(
        request.user, ident, int(card["author"]["id"]), cursor, page_sizes.PAGE_SIZE, sort
    )
    context = {
        "post": card,
        "comments": found.items,
        "next": found.next,
        "sort": sort,
        "status": status,
        "reply": request.GET.get("reply", ""),
        "reply_at": f"{request.path}?{_carried_query(request, 'sort', 'cursor')}",
    }
    name = "feeds/post/post.html"
    if request.htmx and cursor is not None:
        name = "interactions/comments/_comment_page.html"
    elif request.htmx and request.htmx.target == "comments":
        name = "interactions/comments/_comments.html"
    return render(request, name, context)


def _carried_query(request: PageRequest, *names: str) -> str:
    """Return those parameters of the address, to go on with further ones."""
    kept = {name: request.GET[name] for name in names if name in request.GET}
    return urlencode(kept) + "&" if kept else ""


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.EDIT,))
def post_edit(request: PageRequest, post_id: str) -> HttpResponse:
    """Edit one's own post; what is wrong is shown at its field, nothing typed is lost.

    If the post was changed meanwhile, its present words are shown beside those typed.
    """
    me = member(request)
    card = queries.post(me, api.parse_id(post_id))
    if not card["mine"] or (card["kind"] == Kind.REPOST and not card["content"]):
        raise errors.Forbidden
    if request.method != "POST":
        return render(request, "feeds/writing/edit.html", edit_context(card, card))
    kept: list[Media] = []
    try:
        kept = composer.kept(request, me)
        _edit(request, me, card, kept)
    except errors.StaleVersion as error:
        card = queries.post(me, int(card["id"]))
        context = edit_context(card, request.POST, kept) | {"present": card}
        return render(request, "feeds/writing/edit.html", context, status=error.status)
    except composer.ERRORS as error:
        context = edit_context(card, request.POST, kept)
        context["form_errors"] = composer.form_errors(error)
        context["version"] = request.POST.get("version", "")
        answer = render(request, "feeds/writing/edit.html", context, status=error.status)
        return api.add_headers(answer, error)
    there = HttpResponseRedirect(reverse("post", args=[card["id"]]), status=303)
    return form_keys.accepted(request, there)


def added_to(card: Card, kept: Sequence[Media]) -> list[Media]:
    """Return those of the uploaded pictures that the post does not have already."""
    of_post = {image["id"] for image in card["images"]}
    return [item for item in kept if str(item.pk) not in of_post]


def _edit(request: PageRequest, author: User, card: Card, uploaded: list[Media]) -> None:
    composer.check_kept(request, uploaded)
    ident = int(card["id"])
    version = api.parse_id(request.POST.get("version", ""), "version")
    names = ("content", "title", "note", "visibility")
    values: dict[str, Any] = {name: request.POST.get(name) for name in names}
    # The forms of videos and reposts have no such box.
    with_pictures = card["kind"] in (Kind.MICRO, Kind.ARTICLE) or card["video"] is not None
    values["sensitive"] = composer.is_sensitive(request) if with_pictures else None
    removed = request.POST.getlist("remove")
    kept = [int(image["id"]) for image in card["images"] if image["id"] not in removed]
    alts = {one: request.POST[f"alt-{one}"] for one in kept if f"alt-{one}" in request.POST}
    files = [file for file in request.FILES.getlist("images") if file.size]
    # Before a picture is kept for nothing.
    kept += [item.pk for item in added_to(card, uploaded)]
    count = len(kept) + len(files)
    actions.check_edit(author, ident, version, images=count, **values)
    composer.say_who_does_not_see(request, author, card["kind"], card["content"])
    request_budgets.spend(request)
    images = kept + composer.new_pictures(request, author, files)
    actions.edit(author, ident, version, images=images, alts=alts, **values)


def edit_context(card: Card, values: Any, uploaded: Sequence[Media] = ()) -> dict[str, Any]:
    """Return the context of the form; `values` are the post's, or the form's that was sent."""
    is_sent = values is not card
    removed = values.getlist("remove") if is_sent else ()
    images = [
        {
            **image,
            "alt": values.get(f"alt-{image['id']}", image["alt"]) if is_sent else image["alt"],
            "removed": image["id"] in removed,
        }
        for image in card["images"]
    ]
    names = ("title", "note", "content", "visibility")
    shown = {name: values.get(name, card.get(name)) for name in names}
    shown["sensitive"] = values.get("sensitive") == "1" if is_sent else card["sensitive"]
    return {
        "post": card,
        "version": card["version"],
        "values": shown,
        "images": images,
        "kept": composer.shown(added_to(card, uploaded)),
        "form_errors": {},
        "present": None,
    }


@require_safe
@takes(GET=READS)
def post_history(request: PageRequest, post_id: str) -> HttpResponse:
    """The versions of a post, the present one first."""
    ident = api.parse_id(post_id)
    page = queries.history(request.user, ident, api.cursor_of(request), page_sizes.PAGE_SIZE)
    context = {"post_id": ident, "versions": page.items, "next": page.next}
    # A post that its author folded later is folded in its former versions too.
    context["present_note"] = queries.post(request.user, ident)["note"]
    return render(request, "feeds/post/history.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.DELETE,))
def post_delete(request: PageRequest, post_id: str) -> HttpResponse:
    """Ask whether to delete one's own post; POST deletes it."""
    me, ident = member(request), api.parse_id(post_id)
    if request.method != "POST":
        return _ask(request, me, ident, "delete")
    actions.delete(me, ident, address_of(request))
    if request.htmx:
        return HttpResponse()
    return HttpResponseRedirect(reverse("home"), status=303)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.DELETE, budgets.DRAFT))
def post_rewrite(request: PageRequest, post_id: str) -> HttpResponse:
    """Ask whether to delete one's own post and write it again; POST opens it as a draft."""
    me, ident = member(request), api.parse_id(post_id)
    if request.method != "POST":
        return _ask(request, me, ident, "rewrite")
    draft = draft_actions.rewrite(me, ident)
    return HttpResponseRedirect(reverse("draft", args=[draft.pk]), status=303)


def _ask(request: PageRequest, author: User, post_id: int, act: str) -> HttpResponse:
    """Render the question before an act that ends a post; with a script a dialog asks it."""
    card = queries.post(author, post_id)
    if not card["mine"] or (act == "rewrite" and card["kind"] == Kind.REPOST):
        raise errors.Forbidden
    return render(request, "feeds/post/delete.html", {"post": card, "act": act})
