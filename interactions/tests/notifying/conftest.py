"""The reader of notifications, and a post that others answer."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts.models import MailKind, User

ADDRESS = "reader@example.org"


@pytest.fixture
def me(make_user: Callable[..., Any]) -> Any:
    """A person whom others mention by this name."""
    return make_user("reader1")


@pytest.fixture
def post(me: Any, make_post: Callable[..., Any]) -> Any:
    """A post of this person."""
    return make_post(me, content="my words")


@pytest.fixture
def choose(me: User) -> Callable[[MailKind], None]:
    """Return a function that gives the reader an address and mails of a kind alone."""

    def run(kind: MailKind) -> None:
        User.objects.filter(pk=me.pk).update(email=ADDRESS, email_key=ADDRESS)
        me.refresh_from_db()
        accounts_actions.choose_mails(me, kind)

    return run
