"""How long accounts keeps data; see `socialsite.core.retention`."""

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts import actions, addresses, sign_in_log
from accounts.actions import erasing, moderation, sign_up_requests
from accounts.models import Closing, Failures, KeptName, SignIn, SignUpRequest
from accounts.sign_in import attempts
from socialsite.core import ids
from socialsite.core.retention import Kept, ms

State = SignUpRequest.State


def _sign_ups(state: SignUpRequest.State, days: int, title: Promise) -> Kept:
    return Kept(
        f"sign-ups: {state}",
        title,
        lambda: days,
        lambda before: [SignUpRequest.objects.filter(state=state, changed_at__lt=before)],
        actions.purge_requests,
    )


KEPT = (
    Kept(
        "addresses",
        _("IP addresses of sign-ins, sign-ups and acts of staff"),
        lambda: settings.IP_DAYS,
        lambda before: [
            table._default_manager.filter(address_at__lt=before) for table in addresses.TABLES
        ],
        addresses.erase_old,
    ),
    Kept(
        "sign-ins",
        _("Log of your sign-ins"),
        lambda: sign_in_log.DAYS,
        lambda before: [SignIn.objects.filter(pk__lt=ids.first_of(ms(before)))],
        sign_in_log.purge,
    ),
    Kept(
        "failed attempts",
        _("Failed log-ins, as hashes"),
        lambda: 1,
        lambda before: [Failures.objects.filter(last_at__lt=ms(before))],
        attempts.purge,
    ),
    _sign_ups(
        State.UNCONFIRMED,
        sign_up_requests.UNCONFIRMED_DAYS,
        _("Sign-ups whose e-mail address nobody confirmed"),
    ),
    _sign_ups(State.WAITING, sign_up_requests.WAITING_DAYS, _("Sign-ups that nobody decided on")),
    _sign_ups(State.REFUSED, sign_up_requests.REFUSED_DAYS, _("Refused sign-ups")),
    Kept(
        "taken parts",
        _("What staff removed from profiles and posts that they deleted, for an undo"),
        lambda: moderation.TAKEN_DAYS,
        lambda before: [moderation.to_forget(before)],
        actions.forget_taken,
    ),
    Kept(
        "closed accounts",
        _("Closed accounts, until their erasure"),
        lambda: settings.CLOSE_GRACE_DAYS,
        lambda before: [Closing.objects.filter(closed_at__lt=before, erased_at=None)],
    ),
    Kept(
        "names",
        _("Hashes of the names of erased accounts, so that nobody else takes them"),
        lambda: erasing.KEPT_FOR.days,
        lambda before: [KeptName.objects.filter(until__lt=before + erasing.KEPT_FOR)],
        actions.forget_names,
    ),
)
