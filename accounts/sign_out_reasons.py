"""Sign-out reasons: why a sign-in ended, shown over the socket and on the next page.

The tables store the last reason of each client and the last one of all clients together. For an
older sign-in a general sentence is shown; nothing is guessed.
"""

import functools
from collections.abc import Mapping
from typing import Literal, NamedTuple

from django.db.models import OuterRef, Subquery
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts import devices
from accounts.devices import Client
from accounts.models import TokenBatch, TokenVersion
from accounts.tokens import Principal

# In addition to the reasons of `TokensRevoked`: an unknown reason; an expired token.
REVOKED, EXPIRED = "revoked", "expired"
# Cached sentences of a process, one entry for each kind of device and language.
KEPT = 256


class Ending(NamedTuple):
    """A reason, and the name of the device that caused it; empty when no device did."""

    reason: str
    by: str = ""


class Words(NamedTuple):
    """Sentences of one reason, without and with the device's name, the placeholder `%(by)s`.

    `help` is for people who did not do it themselves: they change their password after a log-in,
    or recover it by mail if theirs is no longer valid.
    """

    plain: str
    named: str = ""
    help: Literal["", "password", "recover"] = ""


def of(principal: Principal) -> Ending | None:
    """Return why a sign-in ended, with one query; None when it goes on.

    It goes on when only access was revoked (T2), and when its client got a newer pair together with
    the revocation: then this token is just an old copy.
    """
    together = TokenBatch.objects.filter(pk=OuterRef("user_id"))
    row = (
        TokenVersion.objects.filter(user=principal.user_id, client=principal.client)
        .annotate(
            batch_floor=Subquery(together.values("refresh_floor")),
            batch_ended=Subquery(together.values("ended")),
        )
        .values("refresh_floor", "refresh_bat", "ended", "ended_by", "batch_floor", "batch_ended")
        .first()
    )
    if row is None or row["batch_floor"] is None:
        return Ending(REVOKED)
    if principal.batch <= row["batch_floor"]:
        renewed = (
            principal.version > row["refresh_floor"] and row["refresh_bat"] > row["batch_floor"]
        )
        return None if renewed else Ending(row["batch_ended"] or REVOKED)
    if principal.version < row["refresh_floor"]:
        return Ending(REVOKED)  # the row's reason is that of a later sign-in
    if principal.version == row["refresh_floor"]:
        return Ending(row["ended"] or REVOKED, row["ended_by"])
    return None


def words(client: str) -> tuple[tuple[str, Words], ...]:
    """Return (reason, sentences) pairs for a device of this kind, in the current language."""
    return tuple(_words(get_language(), devices.per_device(), client).items())


def ways() -> dict[str, str]:
    """Return what helps (`Words.help`), each with the reasons that it is for."""
    found: dict[str, list[str]] = {}
    for reason, entry in words(""):
        if entry.help:
            found.setdefault(entry.help, []).append(reason)
    return {help_: " ".join(reasons) for help_, reasons in found.items()}


@functools.lru_cache(KEPT)
def _words(_language: str | None, _per_device: bool, client: str) -> Mapping[str, Words]:
    return {
        "login": _login(client),
        "limit": Words(
            _("You signed in on too many devices. This one was unused the longest."),
            _("You signed in on too many devices (%(by)s). This one was unused the longest."),
            help="password",
        ),
        "logout": Words(_("You logged out.")),
        "kicked": Words(
            _("You were signed out by another device of yours."),
            _("You were signed out by another device of yours: %(by)s."),
            help="password",
        ),
        "password": Words(
            _("Your password was changed. Please log in with the new one."),
            _("Your password was changed on %(by)s. Please log in with the new one."),
            help="recover",
        ),
        "forced": Words(_("An administrator signed you out on all devices.")),
        "ban": Words(_("This account is banned.")),
        "suspend": Words(_("The staff suspended this account. Log in to read why.")),
        "closed": Words(_("You closed this account."), help="password"),
        "reuse": Words(
            _("Your sign-in was used in two places at once, so it was ended."), help="password"
        ),
        EXPIRED: Words(_("Your sign-in has expired.")),
        REVOKED: Words(_("You were signed out of this device."), help="password"),
    }


def _login(client: str) -> Words:
    if devices.per_device() and devices.id_of(client):
        return Words(_("You signed in again on this device."), help="password")
    kind = devices.kind_of(client)
    if kind not in Client.values or kind == Client.OTHER:
        return Words(_("You signed in on another device."), help="password")
    values = {"kind": str(Client(kind).label)}
    return Words(
        _("You signed in on another %(kind)s.") % values,
        _("You signed in on another %(kind)s (%(by)s).") % (values | {"by": "%(by)s"}),
        help="password",
    )


def words_of(ending: Ending, client: str) -> Words:
    """Return the words of one reason in the current language, the sentence in `plain`."""
    known = dict(words(client))
    found = known.get(ending.reason) or known[REVOKED]
    if found.named and ending.by:
        return found._replace(plain=found.named.replace("%(by)s", ending.by))
    return found
