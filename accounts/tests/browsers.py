"""A browser without pages: Django's test client with a person's cookies."""

from django.test import Client

from accounts import actions, cookies
from accounts.models import User


def browser_of(user: User) -> Client:
    """Return a browser in which a person is logged in."""
    tokens = actions.sign_in(user, client="other")
    client = Client()
    client.cookies[cookies.ACCESS] = tokens.access
    client.cookies[cookies.REFRESH] = tokens.refresh
    return client
