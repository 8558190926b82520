"""Sign-ins of tests: by password alone, and in a browser without pages; and what it is answered."""

from typing import Any

from django.test import Client

from accounts import actions
from accounts.models import User
from accounts.request_auth import cookies
from accounts.tokens import TokenPair


def log_in(
    username: str, password: str, client: str = "other", user_agent: str = "", address: str = ""
) -> tuple[User, TokenPair]:
    """Log in by password alone, outside of the budgets of failed attempts."""
    user = actions.check_password(username, password)
    proof = actions.Proof(user.password, code=False)
    return user, actions.sign_in(user, client, user_agent, address, proof)


def browser_of(user: User) -> Client:
    """Return a browser in which the person is signed in."""
    tokens = actions.sign_in(user, client="other")
    client = Client()
    client.cookies[cookies.ACCESS] = tokens.access
    client.cookies[cookies.REFRESH] = tokens.refresh
    return client


def text_of(answer: Any, status: int = 200) -> str:
    """Return the text of an answer, which must have this status."""
    assert answer.status_code == status
    return str(answer.content.decode())
