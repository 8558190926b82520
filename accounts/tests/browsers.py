"""Django's test client with a person's cookies, as a browser without pages."""

from django.test import Client

from accounts import actions
from accounts.models import User
from accounts.tokens import cookies


def browser_of(user: User) -> Client:
    """Return a browser in which the person is signed in."""
    tokens = actions.sign_in(user, client="other")
    client = Client()
    client.cookies[cookies.ACCESS] = tokens.access
    client.cookies[cookies.REFRESH] = tokens.refresh
    return client
