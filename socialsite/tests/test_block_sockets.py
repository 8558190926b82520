"""What sockets are told of somebody: nothing where there is a block or a ban between the two.

The other half of the block matrix. Hints name nobody: they have exactly the shapes below, and say
no more than that there is something to ask for. So what counts is who gets one, also of what was
done before the block or the ban but is told after it. Every reader hears a last message of ours,
so that nothing is missed for coming late.
"""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts
from accounts import sockets
from accounts.models import Role, User
from accounts.tests.talk import Socket, in_thread, run
from feeds import actions as feeds
from interactions import actions
from interactions.models import SubjectType
from relations import actions as relations
from socialsite import asgi
from socialsite.tests.block_matrix import APART, MEMBERS, READERS

pytestmark = pytest.mark.django_db(transaction=True)

POSTS, NEWS = {"type": "new_posts", "count": 1}, {"type": "notification"}
LAST = {"type": "last"}
TICKET = "/api/v1/auth/ws-ticket"
# What is served at `/ws/…`; the last is whatever else is asked for, which is refused.
ADDRESSES = ["ws/session/", ""]


def test_every_socket_address_is_known() -> None:
    assert [str(route.pattern) for route in asgi.routes] == ADDRESSES


class Crowd:
    """Hidden, Gone who is to be banned, and a socket of each reader."""

    def __init__(self, make_user: Callable[..., User]) -> None:
        self.hidden, self.gone = make_user("xanadu77"), make_user("vulgar88")
        self.users = {name: make_user(f"{name}1") for name in READERS if name != "anonymous"}
        self.users["staff"] = accounts.promote(self.users["staff"], Role.MEMBER | Role.MODERATOR)
        self.posts = {name: feeds.publish(one, content="x").pk for name, one in self.users.items()}
        for name, reader in self.users.items():
            relations.follow(reader, self.gone)
            # Of a block that ends no follow nothing but the block itself is told.
            if name not in ("stranger", "staff", "blocker"):
                relations.follow(reader, self.hidden)
        self.sockets: dict[str, Socket] = {}

    async def connect(self, tickets: dict[str, str]) -> None:
        """Open a socket for each, by a ticket where there is one, or by a cookie."""
        for name, user in self.users.items():
            if name in tickets:
                socket = Socket(ticket=tickets[name])
            else:
                pair = await in_thread(accounts.sign_in, user, "chrome")
                socket = Socket.by_cookie(pair.access)
            assert await socket.open()
            self.sockets[name] = socket

    def act(self, person: User, names: tuple[str, ...]) -> None:
        """Do all that people are told of."""
        called = " ".join(f"@{user.username}" for user in self.users.values())
        post = feeds.publish(person, content=f"hello {called}").pk
        actions.comment(person, post, f"once more {called}")
        for name in names:
            actions.like(person, SubjectType.POST, self.posts[name])
            actions.comment(person, self.posts[name], "nice")
            feeds.repost(person, self.posts[name])
            relations.follow(person, self.users[name])

    async def heard(self) -> dict[str, list[Any]]:
        """Return what each reader was told since the last time."""
        ids = [self.users[name].pk for name in self.sockets]
        await in_thread(sockets.push, ids, LAST)
        found: dict[str, list[Any]] = {name: [] for name in self.sockets}
        for name, socket in self.sockets.items():
            while (message := await socket.hears()) != LAST:
                found[name].append(message)
        return found


def block(crowd: Crowd) -> None:
    users = crowd.users
    relations.block(crowd.hidden, users["blocked"])
    relations.block(users["blocker"], crowd.hidden)
    relations.block(crowd.hidden, users["mutual"])
    relations.block(users["mutual"], crowd.hidden)


def test_sockets_are_told_nothing_across_a_block_or_of_somebody_banned(
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

        # Done before the block and the ban, told after them.
        await in_thread(crowd.act, crowd.hidden, everybody)
        await in_thread(block, crowd)
        await in_thread(accounts.ban, crowd.users["banned"])
        assert (await crowd.sockets.pop("banned").code()) == (4001, "ban")
        closed = Socket(ticket=late)
        assert await closed.open()
        assert (await closed.code())[0] == 4001
        await in_thread(drain)
        tell(await crowd.heard())

        await in_thread(crowd.act, crowd.hidden, MEMBERS)
        await in_thread(drain)
        tell(await crowd.heard())

        # Of somebody banned nobody is told; Gone's people are told while they are not.
        await in_thread(crowd.act, crowd.gone, (*MEMBERS, *APART))
        await in_thread(accounts.ban, crowd.gone)
        await in_thread(drain)
        assert not any((await crowd.heard()).values())
        for socket in crowd.sockets.values():
            await socket.leave()

    run(scenario)


def tell(heard: dict[str, list[Any]]) -> None:
    """Hold what was heard of Hidden's doings against who may be told."""
    assert {name: heard[name] for name in APART} == {name: [] for name in APART}
    for name in MEMBERS:
        assert NEWS in heard[name], name
        assert (POSTS in heard[name]) == (name == "follower")
        assert all(message in (POSTS, NEWS) for message in heard[name])
