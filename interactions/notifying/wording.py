"""Texts of notifications, in the reader's language; a new kind needs a sentence here."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from markupsafe import Markup, escape

from interactions.models import Answer, Reason
from interactions.queries import Item

# By kind and type of subject.
SENTENCES = {
    ("liked", "post"): gettext_lazy("%(who)s liked your post"),
    ("liked", "comment"): gettext_lazy("%(who)s liked your comment"),
    ("commented", "post"): gettext_lazy("%(who)s commented on your post"),
    ("replied", "comment"): gettext_lazy("%(who)s replied to your comment"),
    ("reposted", "post"): gettext_lazy("%(who)s reposted your post"),
    ("mentioned", "post"): gettext_lazy("%(who)s mentioned you in a post"),
    ("mentioned", "comment"): gettext_lazy("%(who)s mentioned you in a comment"),
    ("followed", "user"): gettext_lazy("%(who)s followed you"),
    ("poll", "post"): gettext_lazy("A poll of %(who)s in which you voted has ended"),
    ("moderation", "post"): gettext_lazy("The site's staff removed your post"),
    ("moderation", "comment"): gettext_lazy("The site's staff removed your comment"),
    ("report", "post"): gettext_lazy("Your report of a post is closed"),
    ("report", "comment"): gettext_lazy("Your report of a comment is closed"),
    ("report", "user"): gettext_lazy("Your report of a person is closed"),
    ("moderation", "user"): gettext_lazy("The site's staff decided about your account"),
}

# Sentences about events that no person caused.
WITHOUT_NAMES = {"poll": gettext_lazy("Your poll has ended")}

# The choices for each kind.
CHOICES = {
    "everyone": gettext_lazy("Always"),
    "following": gettext_lazy("Only people I follow"),
    "nobody": gettext_lazy("Never"),
}
TITLES = {
    "liked": gettext_lazy("Somebody likes a post or a comment of yours"),
    "commented": gettext_lazy("Somebody comments on your post"),
    "replied": gettext_lazy("Somebody replies to your comment"),
    "reposted": gettext_lazy("Somebody reposts your post"),
    "mentioned": gettext_lazy("Somebody mentions you with @"),
    "followed": gettext_lazy("Somebody follows you"),
    "poll": gettext_lazy("A poll of yours, or one in which you voted, ends"),
}


def sentence(item: Item) -> Markup:
    """Return the sentence of a notification, its actors in bold."""
    text = str(SENTENCES[item["kind"], item["subject"]["type"]])
    if not item["actors"]:
        text = str(WITHOUT_NAMES.get(item["kind"], text))
    return Markup(escape(text)) % {"who": _names(item["actors"], item["actor_count"])}  # noqa: S704


def reason(item: Item) -> str:
    """Return why staff removed something, or what became of a report; empty if unknown."""
    if item["kind"] == "report":
        return str(Answer(item["reason"]).label) if item["reason"] in Answer.values else ""
    known = item["reason"] in Reason.values
    return str(Reason(item["reason"]).label) if known else ""


def address(item: Item, name: str) -> str:
    """Return the path that a notification leads to; empty if its subject is gone.

    `name` is the username of the reader.
    """
    if item["kind"] == "followed":
        if item["actor_count"] == 1:
            return reverse("profile", args=[item["actors"][0]["username"]])
        return reverse("profile_followers", args=[name])
    if item["kind"] == "moderation":
        return reverse("acts")
    if item["post_id"] is None:
        return ""
    if item["subject"]["type"] == "comment":
        return reverse("comment_replies", args=[item["subject"]["id"]])
    anchor = "#comments" if item["kind"] == "commented" else ""
    return reverse("post", args=[item["post_id"]]) + anchor


def _names(actors: Sequence[dict[str, Any]], count: int) -> Markup:
    """Return up to two names and the number of others, or all three names of three."""
    bold = Markup("<b>{}</b>")
    names = [bold.format(actor["nickname"] or actor["username"]) for actor in actors]
    if not names:
        return Markup()
    if len(names) == 1 == count:
        # In Chinese a space follows the name.
        return Markup(escape(_("%(name)s"))) % {"name": names[0]}  # noqa: S704
    if count <= len(names):
        first = Markup(escape(_(", "))).join(names[:-1])  # noqa: S704
        text = _("%(names)s and %(last)s")
        return Markup(escape(text)) % {"names": first, "last": names[-1]}  # noqa: S704
    named = Markup(escape(_(", "))).join(names[:2])  # noqa: S704
    rest = count - min(len(names), 2)
    text = ngettext("%(names)s and %(n)s other", "%(names)s and %(n)s others", rest)
    return Markup(escape(text)) % {"names": named, "n": rest, "all": count}  # noqa: S704
