"""Live hints between people: none if there is a block or a ban between the two.

The second half of the block matrix. Hints name nobody: they have exactly the shapes below, and only
say that there is something new to fetch. So the test checks who gets one, also for actions before
the block or the ban whose events are delivered after it. Every reader gets a final message from the
test, so that no late hint is missed.
"""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts import live_hint_types, live_hints
from accounts.models import Role, User
from accounts.tests.live.talk import Socket, in_thread, run
from feeds import actions as feeds_actions
from interactions import actions as interactions_actions
from interactions.models import SubjectType
from relations import actions as relations_actions
from socialsite import asgi
from socialsite.tests.blocks.block_matrix import APART, MEMBERS, READERS
from socialsite.tests.support.routes import SOCKET_ADDRESSES

pytestmark = pytest.mark.django_db(transaction=True)

POSTS, NEWS = {"type": "new_posts", "count": 1}, {"type": "notification"}
LAST = {"type": "last"}
TICKET = "/api/v1/auth/ws-ticket"


@pytest.fixture(autouse=True)
def _last_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the type of the message that ends what a reader hears."""
    monkeypatch.setitem(live_hint_types._types, LAST["type"], None)


def test_every_socket_address_is_known() -> None:
    assert [str(route.pattern) for route in asgi.routes] == SOCKET_ADDRESSES


class Crowd:
    """Hidden, Gone who is to be banned, and a socket of each reader."""

    def __init__(self, make_user: Callable[..., User]) -> None:
        self.hidden, self.gone = make_user("xanadu77"), make_user("vulgar88")
        self.users = {name: make_user(f"{name}1") for name in READERS if name != "anonymous"}
        self.users["staff"] = accounts_actions.promote(
            self.users["staff"], Role.MEMBER | Role.MODERATOR
        )
        self.posts = {
            name: feeds_actions.publish(one, content="x").pk for name, one in self.users.items()
        }
        for name, reader in self.users.items():
            relations_actions.follow(reader, self.gone)
            # For a block without a follow to end, the block itself is the only event.
            if name not in ("stranger", "staff", "blocker"):
                relations_actions.follow(reader, self.hidden)
        self.sockets: dict[str, Socket] = {}

    async def connect(self, tickets: dict[str, str]) -> None:
        """Open a socket for each reader, by ticket if possible, otherwise by cookie."""
        for name, user in self.users.items():
            if name in tickets:
                socket = Socket(ticket=tickets[name])
            else:
                pair = await in_thread(accounts_actions.sign_in, user, "chrome")
                socket = Socket.by_cookie(pair.access)
            assert await socket.open()
            self.sockets[name] = socket

    def act(self, person: User, names: tuple[str, ...]) -> None:
        """Do everything that causes hints."""
        called = " ".join(f"@{user.username}" for user in self.users.values())
        post = feeds_actions.publish(person, content=f"hello {called}").pk
        interactions_actions.comment(person, post, f"once more {called}")
        for name in names:
            interactions_actions.like(person, SubjectType.POST, self.posts[name])
            interactions_actions.comment(person, self.posts[name], "nice")
            feeds_actions.repost(person, self.posts[name])
            relations_actions.follow(person, self.users[name])

    async def received(self) -> dict[str, list[Any]]:
        """Return the messages of each reader since the last call."""
        ids = [self.users[name].pk for name in self.sockets]
        await in_thread(live_hints.push, ids, LAST)
        found: dict[str, list[Any]] = {name: [] for name in self.sockets}
        for name, socket in self.sockets.items():
            while (message := await socket.receive()) != LAST:
                found[name].append(message)
        return found


def block(crowd: Crowd) -> None:
    users = crowd.users
    relations_actions.block(crowd.hidden, users["blocked"])
    relations_actions.block(users["blocker"], crowd.hidden)
    relations_actions.block(crowd.hidden, users["mutual"])
    relations_actions.block(users["mutual"], crowd.hidden)


def test_sockets_get_nothing_across_a_block_or_from_somebody_banned(
    make_user: Any, api_for: Any, drain: Any
) -> None:
    crowd = Crowd(make_user)
    drain()
    everybody = tuple(crowd.users)
    tickets = {
        name: api_for(crowd.users[name], "android").post(TICKET).json()["ticket"]
        for name in ("follower", "mutual", "blocker", "banned")
    }
    late = tickets.pop("banned")

    async def scenario() -> None:
        anonymous = Socket.by_cookie()
        assert await anonymous.open()
        assert (await anonymous.code())[0] == 4001
        await crowd.connect(tickets)

        # Done before the block and the ban, delivered after them.
        await in_thread(crowd.act, crowd.hidden, everybody)
        await in_thread(block, crowd)
        await in_thread(accounts_actions.ban, crowd.users["banned"])
        assert (await crowd.sockets.pop("banned").code()) == (4001, "ban")
        closed = Socket(ticket=late)
        assert await closed.open()
        assert (await closed.code())[0] == 4001
        await in_thread(drain)
        compare(await crowd.received())

        await in_thread(crowd.act, crowd.hidden, MEMBERS)
        await in_thread(drain)
        compare(await crowd.received())

        # Actions of a banned person cause no hints; Gone's followers get them before the ban.
        await in_thread(crowd.act, crowd.gone, (*MEMBERS, *APART))
        await in_thread(accounts_actions.ban, crowd.gone)
        await in_thread(drain)
        assert not any((await crowd.received()).values())
        for socket in crowd.sockets.values():
            await socket.leave()

    run(scenario)


def compare(received: dict[str, list[Any]]) -> None:
    """Compare the hints about Hidden's actions with the readers who may get them."""
    assert {name: received[name] for name in APART} == {name: [] for name in APART}
    for name in MEMBERS:
        assert NEWS in received[name], name
        assert (POSTS in received[name]) == (name == "follower")
        assert all(message in (POSTS, NEWS) for message in received[name])
