"""Event handlers of accounts, for its own events and those of lower apps."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Q

from accounts import actions, cache
from accounts.events import (
    MailWanted,
    ProfileChanged,
    TokensRevoked,
    UserBanned,
    UserClosed,
    UserLimited,
    UserRegistered,
    UserReopened,
    UserUnbanned,
)
from accounts.mail import messages
from accounts.models import StaffAct, User
from accounts.naming import search as name_search
from accounts.push import actions as push_actions
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import Unavailable
from socialsite.core.events import enqueue
from socialsite.core.events.registry import on
from socialsite.core.media import references
from socialsite.core.models import Media

# Whoever follows one of these events follows all: an account is hidden or shown again.
STANDING = (UserBanned, UserUnbanned, UserClosed, UserReopened)
_Standing = UserBanned | UserUnbanned | UserClosed | UserReopened


@references.register_use
def is_on_profile(picture: Media) -> bool:
    """Return whether a person uses it as their avatar or banner, or staff may give it back."""
    names = picture.file_names()
    people = User.objects.filter(pk=picture.owner_id)
    if people.filter(Q(avatar_name__in=names) | Q(banner_name__in=names)).exists():
        return True
    taken = StaffAct.objects.filter(user=picture.owner_id, undone_at=None, taken__in=names)
    return taken.exclude(kind=StaffAct.Kind.TAKE_BIO).exists()


@references.seen_by_all
def profile_pictures(pictures: Sequence[Media]) -> set[str]:
    """Return the files that are avatars and banners of open accounts; these are public."""
    people = _shown_files({picture.owner_id for picture in pictures})
    shown = {(owner, name) for owner, *two in people for name in two if name}
    return {
        name
        for picture in pictures
        for name in picture.file_names()
        if (picture.owner_id, name) in shown
    }


@compiled
def _shown_files(owner_ids: Collection[int]) -> Any:
    people = User.objects.active().filter(pk__in=owner_ids)
    return people.values_list("pk", "avatar_name", "banner_name")


@on(UserRegistered, ProfileChanged, within=True)
def index_names(event: UserRegistered | ProfileChanged) -> None:
    """Make the search index agree with the names of a person, from the commit on."""
    name_search.refresh(event.user_id)


@on(*STANDING, after=True)
def arrange_pictures(event: _Standing) -> None:
    """Make the pictures of a banned or closed account private, and public again afterwards."""
    references.arrange_all(event.user_id)


@on(TokensRevoked, after=True)
def announce_again(event: TokensRevoked) -> None:
    """Repeat the steps after the commit of a revocation, in case its process died before them."""
    actions.announce(event)


@on(UserRegistered, ProfileChanged, UserLimited, *STANDING, after=True)
def invalidate_card_again(
    event: UserRegistered | ProfileChanged | UserLimited | _Standing,
) -> None:
    """Repeat the steps after the commit of a change, in case its process died before them."""
    cache.PEOPLE.invalidate([event.user_id])


@on(*STANDING, after=True)
def renew_standing_again(event: _Standing) -> None:
    """Repeat the steps after the commit of such a change, in case its process died before them."""
    cache.STANDING.renew()


@on(TokensRevoked, within=True)
def write_of_new_password(event: TokensRevoked) -> None:
    """Notify a person by mail that their password was changed."""
    changed = event.client is None and event.reason == "password"
    if changed and User.objects.filter(pk=event.user_id).exclude(email="").exists():
        actions.request_mail("password_changed", event.user_id, "")


@on(TokensRevoked, within=True)
def end_pushes(event: TokensRevoked) -> None:
    """End the pushes to the devices whose sign-in ends; new access tokens change nothing."""
    if not event.access_only:
        push_actions.end_revoked(event)


@on(MailWanted, after=True)
def hand_to_worker(event: MailWanted) -> None:
    """Enqueue the mail for a worker, as a mail server may be slow; retry later without a broker.

    The outbox stores the mail until the broker accepts it, and again after a failed try. While it
    is being sent, it is lost if the worker is killed or the broker is emptied.
    """
    message = (event.kind, event.user_id, event.address, event.language)
    send = enqueue.send_last if event.kind in messages.UNHURRIED else enqueue.send
    if not send("accounts.send_mail", *message, event.tries, event.counted, list(event.detail)):
        raise Unavailable
