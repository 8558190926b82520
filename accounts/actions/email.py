"""E-mail address of an account: stored only after its link was opened.

One of two concurrent links wins: the link's data is compared with the account again under its lock.
"""

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from accounts import validators
from accounts.actions.audit import Act, note
from accounts.events import MailWanted
from accounts.mail import links
from accounts.models import User
from accounts.sign_in import passwords
from socialsite.core import db
from socialsite.core.events import publish
from socialsite.core.http.errors import InvalidInput, PasswordNotCorrected, WrongLink
from socialsite.core.ids import new_id


def change_email(user: User, new: str, password: str) -> None:
    """Send a link to a person's new address; the old address stays until the link is opened.

    Raises InvalidInput for the address, PasswordNotCorrected.
    """
    known = User.objects.get(pk=user.pk)
    wrong = validators.email(new)
    new = validators.normal_email(new)
    if not wrong and new == known.email:
        wrong = [_("This is already your address.")]
    if wrong:
        raise InvalidInput(fields={"email": wrong})
    _check(known, password)
    _request_confirmation(known.pk, new)


def remove_email(user: User, password: str, *, address: str = "") -> None:
    """Remove a person's address. `address` is the IP address of the request.

    Raises PasswordNotCorrected.
    """
    known = User.objects.get(pk=user.pk)
    _check(known, password)
    _store(known, "", known.password, address)


def confirm_email(token: str, *, address: str = "") -> User:
    """Store the address of a link. `address` is the IP address of the request. Raises WrongLink."""
    link = links.read_email(token)
    return _confirm(link, address)


@db.atomic
def _confirm(link: links.EmailLink, address: str) -> User:
    user = User.objects.select_for_update().filter(pk=link.user_id).first()
    if user is None or not links.fits(link, user):
        raise WrongLink
    _write(user, link.address, address)
    return user


@db.atomic
def _store(known: User, new: str, checked: str, address: str) -> None:
    user = User.objects.select_for_update().get(pk=known.pk)
    if user.password != checked:
        raise _not_corrected()
    if user.email != new:
        _write(user, new, address)


def _write(user: User, new: str, address: str) -> None:
    old = user.email
    user.email, user.email_key = new, new.lower()
    user.save(update_fields=["email", "email_key"])
    note(user, Act.EMAIL, "user", user.pk, {"removed": not new}, address)
    if old:
        request_mail("email_changed", user.pk, old)


@db.atomic
def _request_confirmation(user_id: int, new: str) -> None:
    request_mail("confirm_email", user_id, new)


def request_mail(kind: str, user_id: int, address: str) -> None:
    """Publish a MailWanted event in the current language, in the transaction of its cause."""
    publish(MailWanted(new_id(), kind, user_id, address, get_language() or ""))


def write_of(act: Act, user: User) -> None:
    """Notify a person by mail of an act on their account, in the transaction of the act.

    Does nothing for a person without an address.
    """
    if User.objects.filter(pk=user.pk).exclude(email="").exists():
        request_mail(act.value, user.pk, "")


def _check(user: User, password: str) -> None:
    if not passwords.is_right(user, password):
        raise _not_corrected()


def _not_corrected() -> PasswordNotCorrected:
    text = _("This is not your password.")
    return PasswordNotCorrected(text, fields={"password": [text]})
