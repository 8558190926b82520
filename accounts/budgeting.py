"""Whose budget a request takes from."""

from django.http import HttpRequest

from accounts import networks
from accounts.models import User
from socialsite.core import budgets
from socialsite.core.ratelimit import Take


def of_sign_up(request: HttpRequest, email: str) -> list[Take]:
    """Return what making an account takes, and the mail to its address if there is one."""
    takes = [
        Take(budgets.SIGN_UP, networks.client_of(request)),
        Take(budgets.SIGN_UP_NETWORK, networks.network_of(request)),
    ]
    return [*takes, *of_mail(request)] if email.strip() else takes


def of_mail(request: HttpRequest, user: User | None = None) -> list[Take]:
    """Return what asking for a mail takes: of the address, and of the person who is signed in.

    Of both, as one person may ask from many addresses, and one address may have many accounts.
    """
    owners = [f"address:{networks.client_of(request)}"]
    if user is not None:
        owners.append(f"person:{user.pk}")
    return [Take(budgets.MAIL_ASKER, owner) for owner in owners]
