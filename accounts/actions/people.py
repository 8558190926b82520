"""New accounts."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts import cache, queries, validators
from accounts.actions.email import request_mail
from accounts.events import UserRegistered
from accounts.models import TokenBatch, User
from accounts.sign_in import passwords
from socialsite.core import db
from socialsite.core.events import publish
from socialsite.core.http.errors import DuplicatedUser


def register(
    username: str,
    nickname: str,
    password: str,
    email: str = "",
    *,
    unconfirmed: str = "",
    password_hash: str = "",
) -> User:
    """Create an account. Raises RegMatchError with its fields, or DuplicatedUser.

    `email` is an address known to belong to the person. An `unconfirmed` address gets a link
    instead, which stores it when opened.
    `password_hash` is the result of `passwords.hash_password` for this password. A caller that
    creates hundreds of accounts with one password computes it once.
    """
    nickname = validators.normal_nickname(nickname)
    validators.check(
        username=validators.username(username),
        nickname=validators.nickname(nickname)
        or validators.like_staff(nickname, queries.staff_names()),
        password=validators.password(password, username, nickname),
        email=validators.email(unconfirmed) if unconfirmed else [],
    )
    if queries.any_by_name(username):
        raise _duplicated()  # before the costly hash
    hashed = password_hash or passwords.hash_password(password)
    return _create(username, nickname, hashed, email, validators.normal_email(unconfirmed))


@db.atomic
def _create(username: str, nickname: str, password: str, email: str, unconfirmed: str) -> User:
    user = User(
        username=username,
        username_key=username.lower(),
        nickname=nickname,
        first_steps=True,
        nickname_key=validators.key_of(nickname),
        password=password,
        email=email,
        email_key=email.lower(),
        email_waiting=unconfirmed,
    )
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise _duplicated() from None
    TokenBatch.objects.create(user=user)
    publish(UserRegistered(user.pk))
    cache.card_changed(user.pk)  # a guest may have cached "nobody" for this id
    if unconfirmed:
        request_mail("confirm_email", user.pk, unconfirmed)
    return user


def _duplicated() -> DuplicatedUser:
    return DuplicatedUser(fields={"username": [_("This username is taken.")]})
