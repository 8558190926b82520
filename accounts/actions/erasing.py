"""The last step of erasing a closed account: its row becomes an empty shell.

The row stays because tombstones and the audit trail refer to its id. `accounts.erasing` does all
steps before.
"""

from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import cache
from accounts.models import Closing, KeptName, MailKind, Role, User
from accounts.naming import search as name_search
from socialsite.core import db

# Nobody can register the name of an erased account for this time.
KEPT_FOR = timedelta(days=365)
STEP = 500
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

# What the shell has in the columns of a person; `deleted_at` and `created_at` stay.
EMPTY: dict[str, Any] = {
    "password": "",
    "nickname": "",
    "nickname_key": "",
    "email": "",
    "email_waiting": "",
    "email_key": "",
    "avatar_name": "",
    "bio": "",
    "banner_name": "",
    "links": [],
    "place": "",
    "pronouns": "",
    "digest_due": None,
    "language": "",
    "mails": MailKind.SIGN_INS,
    "unfold_notes": None,
    "show_sensitive": None,
    "likes_shown": False,
    "first_steps": False,
    "terms_accepted": 0,
    "roles": Role.MEMBER,
    "suspended_until": None,
    "limited_at": None,
}


def filled(user_id: int) -> "QuerySet[User]":
    """Return the row of a person unless all but its name is empty."""
    empty = Q(**{name: value for name, value in EMPTY.items() if value is not None})
    empty &= Q(**{f"{name}__isnull": True for name, value in EMPTY.items() if value is None})
    return User.objects.filter(pk=user_id).exclude(empty)


@db.atomic
def empty_profile(user_id: int) -> int:
    """Empty a row but for its name; return whether there was something."""
    changed = filled(user_id).update(**EMPTY)
    if changed:
        cache.card_changed(user_id)
    return changed


@db.atomic
def finish(user_id: int) -> bool:
    """Give the name away, keep its hash for a year, and mark the account as erased.

    Returns False if it was marked already.
    """
    user = User.objects.select_for_update().get(pk=user_id)
    now = timezone.now()
    if not user.username_key.startswith(User.ERASED):
        kept = KeptName(digest=KeptName.digest_of(user.username), until=now + KEPT_FOR)
        kept.save()
        user.username = user.username_key = shell_name(user_id)
    user.last_seen = user.deleted_at or now
    user.save(update_fields=["username", "username_key", "last_seen"])
    name_search.refresh(user_id)
    cache.card_changed(user_id)
    return bool(Closing.objects.filter(pk=user_id, erased_at=None).update(erased_at=now))


def shell_name(user_id: int) -> str:
    """Return what a shell has instead of a name: unique, and no username is like it."""
    digits = ""
    while user_id:
        user_id, digit = divmod(user_id, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return User.ERASED + digits


def is_kept(username: str) -> bool:
    """Return whether a username belonged to an account that was erased not long ago."""
    kept = KeptName.objects.filter(pk=KeptName.digest_of(username), until__gt=timezone.now())
    return kept.exists()


@db.atomic
def forget_names() -> int:
    """Free some names that were kept long enough; return how many."""
    old = KeptName.objects.filter(until__lte=timezone.now())
    keys = list(old.values_list("pk", flat=True)[:STEP])
    return KeptName.objects.filter(pk__in=keys).delete()[0]
