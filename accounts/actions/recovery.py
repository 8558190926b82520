"""Password recovery by e-mail.

A request takes the same steps whether or not an account has the address; a worker does the rest
later. A recovery link does not sign in. It only sets the password, and log-in still asks for the
second factor.
"""

from accounts import email_rules, validators
from accounts.actions.credentials import store_password
from accounts.actions.email import drop_waiting_email
from accounts.actions.mails import request_mail
from accounts.actions.revocation import fenced, locked_batch, revoke_batch
from accounts.audit import Act, note
from accounts.credentials import password_rules, passwords
from accounts.mail import links
from accounts.models import User
from socialsite.core import db
from socialsite.core.errors import InvalidInput, WrongLink


@db.atomic
def request_recovery(email: str) -> None:
    """Request recovery mails for all accounts with this address. Raises InvalidInput."""
    wrong = email_rules.mistakes(email)
    if wrong:
        raise InvalidInput(fields={"email": wrong})
    request_mail("recovery", 0, email_rules.normal(email))


def recover(token: str, new: str, *, address: str = "") -> User:
    """Set the password by a link and end all sign-ins. `address` is the IP address of the request.

    Raises WrongLink, RegMatchError.
    """
    user = links.recovering(token)
    validators.check(new_password=password_rules.mistakes(new, user.username, user.nickname))
    return _set(user, token, passwords.hash_password(new), address)


@fenced
def _set(user: User, token: str, hashed: str, address: str) -> User:
    batch = locked_batch(user)
    current = User.objects.get(pk=user.pk)
    if not links.recovers(token, current):
        raise WrongLink
    store_password(current, hashed)
    drop_waiting_email(current)  # somebody else may have entered it
    revoke_batch(batch, "password")
    note(current, Act.RECOVER, "user", current.pk, address=address)
    return current
