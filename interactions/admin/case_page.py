"""The parts of the page of a case: the reported object as people see it, and its author's history.

Pictures and videos are blurred until staff ask for them. The number of queries does not grow with
the thread or the history.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import staff_acts
from accounts.actions import ActKind
from accounts.admin import descriptions
from accounts.models import User
from feeds import queries as feeds_queries
from feeds import staff_queries
from interactions import queries
from interactions.models import Case, CaseNote, ReportedKind
from socialsite.core.media import pictures

CASES, NOTES = 20, 200


def time_text(ms: int) -> str:
    """Return a time in UTC, to the minute."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"


class Earlier(NamedTuple):
    """Another case about the same person."""

    address: str
    name: str
    at: str
    outcome: str


def history(case: Case, viewer: User) -> dict[str, Any]:
    """Return what is known of the person that a case is about."""
    owner = case.owner
    others = Case.objects.filter(owner=owner).exclude(pk=case.pk)
    latest = others.order_by("-reported_at", "-pk")[:CASES]
    return {
        "person": owner,
        "post_count": feeds_queries.post_counts([owner.pk]).get(owner.pk, 0),
        "earlier": [
            Earlier(
                reverse("admin:interactions_case_change", args=[one.pk]),
                str(one),
                time_text(one.reported_at),
                str(one.get_outcome_display()),
            )
            for one in latest
        ],
        "acts": descriptions.acts_on(owner, viewer),
    }


class ShownNote(NamedTuple):
    """A note of staff, with its time in words."""

    author: User
    at: str
    words: str


def notes_of(case: Case) -> list[ShownNote]:
    """Return the last notes about a case, newest first."""
    rows = CaseNote.objects.filter(case=case).select_related("author").order_by("-pk")[:NOTES]
    return [ShownNote(row.author, time_text(row.created_at), row.words) for row in rows]


def reported(case: Case) -> SafeString:
    """Return the reported object as HTML; "" if it no longer exists."""
    if case.kind == ReportedKind.POST:
        context = _post_context(case.subject_id)
    elif case.kind == ReportedKind.COMMENT:
        context = _comment_context(case.subject_id)
    else:
        context = _person_context(case.owner)
    if not context:
        return mark_safe("")
    made = render_to_string("interactions/case.html", context, using="jinja2")
    return mark_safe(made)  # noqa: S308  (the template escapes)


# --- posts --------------------------------------------------------------------------------------
def _post_context(post_id: int) -> dict[str, Any]:
    shown = _post(post_id)
    if shown is None:
        return {}
    card = shown["post"]
    versions = staff_queries.former_versions(post_id) if card["version"] > 1 else []
    return {
        "kind": "post",
        "shown": shown,
        "versions": [
            {
                "number": version["version"],
                "at": _of_iso(version["edited_at"] or card["created_at"]),
                "post": version,
            }
            for version in versions
        ],
    }


def _post(post_id: int) -> dict[str, Any] | None:
    found = staff_queries.post(post_id)
    if found is None:
        return None
    card, removed = found.card, found.removed
    text = ngettext(
        "%(count)s picture or video was removed with the post.",
        "%(count)s pictures or videos were removed with the post.",
        removed,
    )
    ref = card["ref"]
    if ref is not None:
        ref["sensitive"] = True  # its pictures are not reported
    shown = {
        "post": card,
        "sensitive": card["sensitive"],
        "at": time_text(card["position"]),
        "edited": _of_iso(card["edited_at"]),
        "quoted": "" if ref is None else time_text(ref["position"]),
        "removed": text % {"count": removed} if removed else "",
        "is_deleted": found.is_deleted,
        "deleted_by": _remover(ActKind.DELETE_POST, int(card["author"]["id"]), post_id),
    }
    card["sensitive"] = True  # blurs its pictures
    return shown


def _remover(kind: ActKind, author_id: int, ident: int) -> User | None:
    act = staff_acts.removal(kind, author_id, ident)
    return None if act is None else act.actor


def _of_iso(time: str | None) -> str:
    """Return a time of the format of `core.times` like `time_text`; "" for none."""
    return "" if time is None else f"{time[:10]} {time[11:16]} UTC"


# --- comments -----------------------------------------------------------------------------------
def _comment_context(comment_id: int) -> dict[str, Any]:
    thread = queries.case_thread(comment_id)
    if thread is None:
        return {}
    shown = _comment(thread.comment)
    author_id = int(thread.comment["author"]["id"])
    shown["deleted_by"] = _remover(ActKind.DELETE_COMMENT, author_id, comment_id)
    return {
        "kind": "comment",
        "post": _post(thread.post_id),
        "above": [_comment(one) for one in thread.above],
        "gap": thread.gap,
        "shown": shown,
        "answers": [_comment(one) for one in thread.answers],
        "more": thread.more,
    }


def _comment(one: queries.CaseComment) -> dict[str, Any]:
    return {
        "id": one["id"],
        "author": one["author"],
        "content": one["content"],
        "at": time_text(one["position"]),
        "edited": "" if one["edited_at"] is None else time_text(one["edited_at"]),
        "is_deleted": one["deleted"],
        "deleted_by": None,
    }


# --- people -------------------------------------------------------------------------------------
def _person_context(person: User) -> dict[str, Any]:
    names = {_("Avatar"): person.avatar_name, _("Banner"): person.banner_name}
    images = [
        {
            "url": pictures.url_of(name),
            "thumb": "",
            "alt": label,
            "placeholder": "",
            "width": 1500 if name == person.banner_name else 400,
            "height": 500 if name == person.banner_name else 400,
        }
        for label, name in names.items()
        if name
    ]
    return {
        "kind": "user",
        "person": person,
        # Its avatar is below, blurred.
        "card": {
            "id": str(person.pk),
            "username": person.username,
            "nickname": person.nickname,
            "avatar": "",
        },
        "pictures": {"id": str(person.pk), "sensitive": True, "images": images},
    }
