"""Password changes.

- A hash is never computed inside a transaction. The stored hash is compared again under the lock of
  the person's tokens, so one of two concurrent changes wins. A concurrent refresh runs either
  before the change, and its tokens are revoked, or after it, and is refused.
- The client that changes the password stays signed in, with a new pair. All other sign-ins end.
"""

from django.utils.translation import gettext_lazy as _

from accounts import validators
from accounts.actions.clients import live_row
from accounts.actions.email import drop_waiting_email
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.actions.signing_in import issue
from accounts.audit import Act, note
from accounts.credentials import password_rules, passwords
from accounts.models import User
from accounts.tokens import TokenPair
from socialsite.core.errors import PasswordNotCorrected


def change_password(
    user: User,
    client: str,
    old: str,
    new: str,
    *,
    version: int | None = None,
    by: str = "",
    address: str = "",
) -> TokenPair:
    """Replace a person's password from one of their own clients, and sign out all others.

    `version` is the version of the client's token; `by` is the device name shown to the others.
    Raises RegMatchError for the new password; PasswordNotCorrected for the old one, also when it
    was replaced in the meantime; BannedAccessToken when the client was signed out in the meantime.
    """
    known = User.objects.get(pk=user.pk)
    wrong = password_rules.mistakes(new, known.username, known.nickname)
    if not wrong and password_rules.normal(new) == password_rules.normal(old):
        wrong = [_("This is already your password.")]
    validators.check(new_password=wrong)
    if not passwords.is_right(known, old):
        raise _not_corrected()
    hashed = passwords.hash_password(new)
    return _change(user, client, version, known.password, hashed, by, address)


@fenced
def _change(
    user: User,
    client: str,
    version: int | None,
    checked: str,
    hashed: str,
    by: str,
    address: str,
) -> TokenPair:
    batch = locked_batch(user)
    current = User.objects.get(pk=user.pk)
    if current.password != checked:
        raise _not_corrected()
    row = live_row(batch, client, version)
    store_password(current, hashed)
    revoke_batch(batch, "password", by=by, spared=client)
    note(user, Act.PASSWORD, "user", user.pk, address=address)
    return issue(current, batch, row)


def set_password(user: User, new: str) -> None:
    """Set a person's password by a command on the server; all sign-ins end.

    Raises RegMatchError.
    """
    validators.check(new_password=password_rules.mistakes(new, user.username, user.nickname))
    _set(user, passwords.hash_password(new))


@fenced
def _set(user: User, hashed: str) -> None:
    batch = locked_batch(user)
    store_password(User.objects.get(pk=user.pk), hashed)
    drop_waiting_email(user)  # whoever knew the old password may have entered it
    revoke_batch(batch, "password")
    note(None, Act.PASSWORD, "user", user.pk)


def store_password(user: User, hashed: str) -> None:
    """Store the hash of a new password. The caller holds the lock and revokes the tokens."""
    user.password = hashed
    user.save(update_fields=["password"])


def _not_corrected() -> PasswordNotCorrected:
    text = _("This is not your password.")
    return PasswordNotCorrected(text, fields={"old_password": [text]})
