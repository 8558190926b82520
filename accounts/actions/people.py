"""New accounts."""

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts import cache, email_rules, queries, validators
from accounts.actions import erasing, invites
from accounts.actions.mails import request_mail
from accounts.actions.terms import note_terms
from accounts.credentials import password_rules, passwords
from accounts.events import UserRegistered
from accounts.models import SignUpRequest, TokenBatch, User
from accounts.naming import name_rules
from accounts.naming import search as name_search
from accounts.validators import Texts
from socialsite.core import db
from socialsite.core.errors import DuplicatedUser
from socialsite.core.events import publish


def register(
    username: str,
    nickname: str,
    password: str,
    email: str = "",
    *,
    unconfirmed: str = "",
    password_hash: str = "",
    terms: int = 0,
    invite: str = "",
    needs_invite: bool = False,
) -> User:
    """Create an account. Raises RegMatchError with its fields, or DuplicatedUser.

    `email` is an address known to belong to the person. An `unconfirmed` address gets a link
    instead, which stores it when opened.
    `password_hash` is the result of `passwords.hash_password` for this password. A caller that
    creates hundreds of accounts with one password computes it once.
    `terms` is the version of the site's terms that the person accepts. `invite` is the code of an
    invitation; one that is not valid raises SignUpClosed if the sign-up `needs_invite`.
    """
    user = checked(
        username, nickname, password, unconfirmed=unconfirmed, password_hash=password_hash
    )
    user.email, user.email_key, user.terms_accepted = email, email.lower(), terms
    _create_invited(user, invite, needs_invite)
    return user


def checked(
    username: str,
    nickname: str,
    password: str,
    *,
    unconfirmed: str = "",
    password_hash: str = "",
    more: Mapping[str, Texts] | None = None,
) -> User:
    """Return an account as `register` creates it, not stored yet; raises as it does.

    `more` are mistakes of other fields, reported together with those that are found here.
    """
    nickname = name_rules.normal_nickname(nickname)
    wrong = {
        "username": name_rules.username(username),
        "nickname": name_rules.nickname(nickname)
        or name_rules.like_staff(nickname, queries.staff_names()),
        "password": password_rules.mistakes(password, username, nickname),
        "email": email_rules.own_mistakes(unconfirmed) if unconfirmed else [],
    }
    validators.check(**wrong | dict(more or {}))
    taken = queries.any_by_name(username) or queries.request_by_name(username)
    if taken or erasing.is_kept(username):
        raise duplicated()  # before the costly hash
    hashed = password_hash or passwords.hash_password(password)
    user = account(username, nickname, hashed)
    user.email_waiting = email_rules.normal(unconfirmed)
    return user


def account(username: str, nickname: str, password_hash: str) -> User:
    """Return an account, not stored yet."""
    return User(
        username=username,
        username_key=username.lower(),
        nickname=nickname,
        first_steps=True,
        nickname_key=name_search.key_of(nickname),
        password=password_hash,
    )


@db.atomic
def _create_invited(user: User, code: str, is_needed: bool) -> None:
    invite = invites.take(code, is_needed=is_needed)
    create(user)
    invites.came(user, invite)


@db.atomic
def create(user: User) -> None:
    """Store a new account, and send a link to the address that waits. Raises DuplicatedUser."""
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise duplicated() from None
    # Both insert first and then look, with locks: of two with one name the second sees the first.
    if SignUpRequest.objects.select_for_update().filter(username_key=user.username_key).first():
        raise duplicated()
    if erasing.is_kept(user.username_key):  # it waited for the erasure of the account with the name
        raise duplicated()
    TokenBatch.objects.create(user=user)
    publish(UserRegistered(user.pk))
    cache.card_changed(user.pk)  # a guest may have cached "nobody" for this id
    if user.email_waiting:
        request_mail("confirm_email", user.pk, user.email_waiting)
    if user.terms_accepted:
        note_terms(user, user.terms_accepted)


def duplicated() -> DuplicatedUser:
    """Return the error for a name that another account, or a waiting sign-up, has or had."""
    return DuplicatedUser(fields={"username": [_("This username is taken.")]})
