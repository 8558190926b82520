"""New accounts."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts import cache, email_rules, queries, validators
from accounts.actions.email import request_mail
from accounts.actions.terms import note_terms
from accounts.credentials import password_rules, passwords
from accounts.events import UserRegistered
from accounts.models import TokenBatch, User
from accounts.naming import name_rules
from accounts.naming import search as name_search
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
) -> User:
    """Create an account. Raises RegMatchError with its fields, or DuplicatedUser.

    `email` is an address known to belong to the person. An `unconfirmed` address gets a link
    instead, which stores it when opened.
    `password_hash` is the result of `passwords.hash_password` for this password. A caller that
    creates hundreds of accounts with one password computes it once.
    `terms` is the version of the site's terms that the person accepts.
    """
    nickname = name_rules.normal_nickname(nickname)
    validators.check(
        username=name_rules.username(username),
        nickname=name_rules.nickname(nickname)
        or name_rules.like_staff(nickname, queries.staff_names()),
        password=password_rules.mistakes(password, username, nickname),
        email=email_rules.mistakes(unconfirmed) if unconfirmed else [],
    )
    if queries.any_by_name(username):
        raise _duplicated()  # before the costly hash
    hashed = password_hash or passwords.hash_password(password)
    user = User(
        username=username,
        username_key=username.lower(),
        nickname=nickname,
        first_steps=True,
        nickname_key=name_search.key_of(nickname),
        password=hashed,
        email=email,
        email_key=email.lower(),
        email_waiting=email_rules.normal(unconfirmed),
        terms_accepted=terms,
    )
    _create(user)
    return user


@db.atomic
def _create(user: User) -> None:
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise _duplicated() from None
    TokenBatch.objects.create(user=user)
    publish(UserRegistered(user.pk))
    cache.card_changed(user.pk)  # a guest may have cached "nobody" for this id
    if user.email_waiting:
        request_mail("confirm_email", user.pk, user.email_waiting)
    if user.terms_accepted:
        note_terms(user, user.terms_accepted)


def _duplicated() -> DuplicatedUser:
    return DuplicatedUser(fields={"username": [_("This username is taken.")]})
