"""Weekly digests: what is new for a person who chose them, if there is something.

Each person has their own time of the week (`User.digest_due`), so they do not all go at once. The
time of the next digest is committed with the event of this one, so each is asked for once; as every
mail, it is lost if a worker is killed while it sends it. What it says is read when it is written.
"""

import logging

from django.core.mail import EmailMessage
from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import actions as accounts_actions
from accounts.mail import choices, composing, messages
from accounts.models import MailKind, User
from feeds import queries as feeds_queries
from feeds.cards.card import Card
from interactions.queries.decoration import decorate
from interactions.queries.notifications import preview_of, unread_count, unread_since
from relations import queries as relations_queries
from socialsite.core import db, site
from socialsite.core.positions import Position

logger = logging.getLogger(__name__)

KIND = "digest"
# People in one step, posts that are shown, and pages of the home feed that are looked at.
STEP, SHOWN = 100, 5
PAGES, PAGE = 10, 20


def send_due() -> int:
    """Ask for the digests that are due, of STEP people at most; return of how many."""
    due = User.objects.filter(digest_due__lte=db.now_ms()).order_by("digest_due")
    ids = list(due.values_list("pk", flat=True)[:STEP])
    for user_id in ids:
        try:
            _ask(user_id)
        except DatabaseError:  # one person must not stop the others
            logger.exception("digest of user %s failed", user_id)
    return len(ids)


@db.atomic
def _ask(user_id: int) -> None:
    now = db.now_ms()
    user = User.objects.select_for_update().filter(pk=user_id, digest_due__lte=now).first()
    if user is None:
        return
    # Who has no address now may confirm one later.
    following = choices.digest_after(user_id, now) if user.mails & MailKind.DIGEST else None
    User.objects.filter(pk=user_id).update(digest_due=following)
    if choices.wants(user, MailKind.DIGEST) and user.is_active:
        accounts_actions.request_mail(KIND, user_id, "", (user.digest_due or now) - choices.WEEK_MS)


def write(user_id: int, address: str, since: int) -> list[EmailMessage]:
    """Return the digest of what happened since a time (Unix ms); none if nothing did."""
    user = User.objects.active().filter(pk=user_id).first()
    if user is None or not choices.wants(user, MailKind.DIGEST):
        return []
    news, posts = _news(user, since), _posts(user, since)
    if not news and not posts:
        return []
    best = [_("From people whom you follow:"), "%(posts)s"] if posts else []
    message = composing.mail_to(
        user.email,
        _("Your week on %(name)s") % {"name": site.current().name},
        _("Hello @%(name)s, this is your week on %(site)s:"),
        *(["%(news)s"] if news else []),
        *best,
        name=user.username,
        news="\n".join(news),
        posts="\n\n".join(posts),
    )
    return [choices.with_ending(message, user, MailKind.DIGEST)]


def _news(user: User, since: int) -> list[str]:
    found = []
    unread, is_more = unread_count(user)
    if unread and unread_since(user.pk, since):
        text = ngettext("%(n)s unread notification", "%(n)s unread notifications", unread)
        number = f"{unread}+" if is_more else unread
        found.append(f"{text % {'n': number}}: {composing.address_of('notifications')}")
    followers = relations_queries.new_follower_count(user.pk, since)
    if followers:
        text = ngettext("%(n)s new follower", "%(n)s new followers", followers) % {"n": followers}
        found.append(f"{text}: {composing.address_of('profile_followers', user.username)}")
    return found


def _posts(user: User, since: int) -> list[str]:
    """Return the most liked posts by others of the home feed, each with its address."""
    cards = [card for card in _home(user, since) if not card["mine"] and _has_words(card)]
    best = sorted(cards, key=lambda card: (card["like_count"], card["position"]), reverse=True)
    texts = feeds_queries.visible_texts(user.pk, [int(card["id"]) for card in best[:SHOWN]])
    return [
        f"{card['author']['nickname'] or card['author']['username']}:"
        f" {preview_of(texts[int(card['id'])].preview)}\n"
        f"{composing.address_of('post', card['id'])}"
        for card in best[:SHOWN]
        if int(card["id"]) in texts
    ]


def _has_words(card: Card) -> bool:
    return bool(card["content"] or card["title"] or card["note"])


def _home(user: User, since: int) -> list[Card]:
    """Return the posts of the home feed since a time, of PAGES pages at most."""
    found, cursor = list[Card](), None
    for _number in range(PAGES):
        page = feeds_queries.home_feed(user, cursor, PAGE)
        new = [card for card in page.items if card["position"] > since]
        found += new
        if page.next is None or len(new) < len(page.items):
            break
        cursor = Position.decode(page.next)
    return decorate(user, found)


messages.register(KIND, write)
