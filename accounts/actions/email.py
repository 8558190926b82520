"""E-mail address of an account: it waits for its confirmation until its link is opened.

One address waits at a time. A link is compared with it under the lock of the account, so a link is
used once, and the link of an address that was replaced or dropped is void. A changed password
leaves the address waiting and voids its links, so a new one is needed; a recovery drops it.
"""

from django.utils.translation import gettext_lazy as _

from accounts import email_rules
from accounts.actions import sign_up_requests
from accounts.actions.mails import request_mail
from accounts.actions.sign_up_requests import Confirmed
from accounts.audit import Act, note
from accounts.credentials import passwords
from accounts.mail import links
from accounts.models import User
from socialsite.core import db, site
from socialsite.core.errors import InvalidInput, NotFound, PasswordNotCorrected, WrongLink


def change_email(user: User, new: str, password: str) -> None:
    """Send a link to a person's new address; the old one stays until the link is opened.

    Raises InvalidInput for the address, PasswordNotCorrected.
    """
    known = User.objects.get(pk=user.pk)
    wrong = email_rules.own_mistakes(new)
    new = email_rules.normal(new)
    if not wrong and new == known.email:
        wrong = [_("This is already your address.")]
    if wrong:
        raise InvalidInput(fields={"email": wrong})
    _check(known, password)
    _wait_for(known, new)


@db.atomic
def send_confirmation_again(user: User) -> None:
    """Send another link to the address that waits. Raises NotFound when none does."""
    waiting = User.objects.filter(pk=user.pk).values_list("email_waiting", flat=True).first()
    if not waiting:
        raise NotFound
    request_mail("confirm_email", user.pk, waiting)


def drop_waiting_email(user: User) -> None:
    """Drop the address that waits, and with it its links."""
    User.objects.filter(pk=user.pk).update(email_waiting="")


def remove_email(user: User, password: str, *, address: str = "") -> None:
    """Remove a person's address, and one that waits. `address` is the IP address of the request.

    Raises PasswordNotCorrected; InvalidInput on a site whose accounts need an address.
    """
    if site.current().email_needed:
        text = _("An account on this site needs an address. You can replace it by another one.")
        raise InvalidInput(fields={"email": [text]})
    known = User.objects.get(pk=user.pk)
    _check(known, password)
    _store(known, "", known.password, address)


def confirm_email(token: str, *, address: str = "") -> Confirmed:
    """Store the address of a link. `address` is the IP address of the request. Raises WrongLink."""
    return _confirm(links.read_email(token), address)


@db.atomic
def _confirm(link: links.EmailLink, address: str) -> Confirmed:
    # A request that staff accept meanwhile is an account once its lock is free.
    found = sign_up_requests.confirm(link)
    if found is not None:
        return found
    user = User.objects.select_for_update().filter(pk=link.user_id).first()
    if user is None or not links.fits(link, user):
        raise WrongLink
    _write(user, link.address, address)
    return Confirmed.ADDRESS


@db.atomic
def _store(known: User, new: str, checked: str, address: str) -> None:
    user = User.objects.select_for_update().get(pk=known.pk)
    if user.password != checked:
        raise _not_corrected()
    if user.email != new:
        _write(user, new, address)
    elif user.email_waiting:
        drop_waiting_email(user)


def _write(user: User, new: str, address: str) -> None:
    old = user.email
    user.email, user.email_key, user.email_waiting = new, new.lower(), ""
    user.save(update_fields=["email", "email_key", "email_waiting"])
    note(user, Act.EMAIL, "user", user.pk, {"removed": not new}, address)
    if old:
        request_mail("email_changed", user.pk, old)


@db.atomic
def _wait_for(known: User, new: str) -> None:
    user = User.objects.select_for_update().get(pk=known.pk)
    if user.password != known.password:
        raise _not_corrected()
    user.email_waiting = new
    user.save(update_fields=["email_waiting"])
    request_mail("confirm_email", user.pk, new)


def _check(user: User, password: str) -> None:
    if not passwords.is_right(user, password):
        raise _not_corrected()


def _not_corrected() -> PasswordNotCorrected:
    text = _("This is not your password.")
    return PasswordNotCorrected(text, fields={"password": [text]})
