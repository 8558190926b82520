"""Whatever happens to the sign-ins of a person, pushes go to the devices that are signed in."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from accounts import actions, tokens
from accounts.models import PushSubscription, User
from accounts.push import actions as push_actions
from accounts.push import queries as push_queries
from accounts.tests.push.endpoint import Browser
from accounts.tokens import TokenPair
from socialsite.core.errors import AppError

pytestmark = pytest.mark.django_db

CLIENTS = ("chrome", "android", "ios")
KEYS = Browser().keys
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def _loopback() -> Iterator[None]:
    """Allow endpoints of this machine, for all examples."""
    with override_settings(OUTGOING_LOOPBACK=True):
        yield


class Devices:
    """A person, the tokens of their devices, and the devices that must receive pushes."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.passwords = itertools.cycle(("right.pass1", "other.pass2"))
        self.password = next(self.passwords)
        self.user: User = actions.register(f"state{number}", f"State{number}", self.password)
        self.pairs: dict[str, TokenPair] = {}
        self.pushed: set[str] = set()

    def run(self, what: str, client: str) -> None:
        getattr(self, what)(client)

    def sign_in(self, client: str) -> None:
        self.pairs[client] = actions.sign_in(self.user, client)
        self.pushed.discard(client)

    def refresh(self, client: str) -> None:
        if client in self.pairs:
            self.pairs[client] = actions.refresh(self.pairs[client].refresh)[1]

    def subscribe(self, client: str) -> None:
        if client not in self.pairs:
            return
        principal = tokens.decode_access(self.pairs[client].access)
        endpoint = f"http://127.0.0.1:9/{next(_numbers)}"
        push_actions.subscribe(self.user, principal, endpoint, **KEYS)
        self.pushed.add(client)

    def unsubscribe(self, client: str) -> None:
        push_actions.unsubscribe(self.user, client)
        self.pushed.discard(client)

    def log_out(self, client: str) -> None:
        actions.log_out(self.user, client)
        self._ended({client})

    def kick_others(self, client: str) -> None:
        actions.kick_others(self.user, client)
        self._ended(set(CLIENTS) - {client})

    def force(self, client: str) -> None:
        actions.force_offline(self.user)
        self._ended(set(CLIENTS))

    def ban_and_unban(self, client: str) -> None:
        actions.ban(self.user)
        assert not push_queries.live(self.user.pk).exists()
        actions.unban(self.user)
        self._ended(set(CLIENTS))

    def roles(self, client: str) -> None:
        actions.promote(self.user, 1 if self.user.roles == 3 else 3)
        self.user.refresh_from_db()
        for name in self.pairs:
            self.refresh(name)

    def password_change(self, client: str) -> None:
        if client not in self.pairs:
            return
        new = next(self.passwords)
        self.pairs[client] = actions.change_password(self.user, client, self.password, new)
        self.password = new
        self._ended(set(CLIENTS) - {client})

    def reuse(self, client: str) -> None:
        """An old refresh token ends the sign-in, after two refreshes and the time of grace."""
        if client not in self.pairs:
            return
        old = self.pairs[client].refresh
        for _ in range(3):
            self.refresh(client)
        with pytest.raises(AppError):
            actions.refresh(old)
        self._ended({client})

    def _ended(self, clients: set[str]) -> None:
        self.pushed -= clients
        for client in clients:
            self.pairs.pop(client, None)

    def check(self) -> None:
        rows = PushSubscription.objects.filter(user=self.user)
        assert set(rows.values_list("client", flat=True)) == self.pushed
        assert set(push_queries.live(self.user.pk).values_list("client", flat=True)) == self.pushed


STEPS = [
    *("sign_in", "refresh", "subscribe", "subscribe", "unsubscribe", "log_out", "kick_others"),
    *("force", "ban_and_unban", "roles", "password_change", "reuse"),
]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(CLIENTS)), max_size=25))
def test_pushes_follow_the_sign_ins(steps: list[tuple[str, str]]) -> None:
    devices: Any = Devices()
    for client in CLIENTS[:2]:
        devices.sign_in(client)
        devices.subscribe(client)
    for what, client in steps:
        devices.run(what, client)
        devices.check()
