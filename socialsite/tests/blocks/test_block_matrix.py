"""Visibility between people: every address, every kind of reader, caches warm, cold and dead.

A person ("Hidden") did everything possible on the site, and has blocks with some readers but not
with others. `block_matrix` says what each address may show, and who must find it there. The content
of a banned person is searched for as well: nobody may find it. Nobody but staff finds anything in
the admin, or anything about reports. `test_block_sockets` tests the sockets.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection, transaction
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from feeds import actions as feeds_actions
from interactions.tasks import fold_notifications
from socialsite.core import redis
from socialsite.tests.blocks.block_matrix import (
    ADMIN,
    ADMIN_PAGES,
    APART,
    DISCLOSED,
    MATRIX,
    MEMBERS,
    NAMES,
    NOBODY,
    OUT,
    PAGES,
    READERS,
    V1,
    Alike,
    Call,
    Disclosed,
    Free,
    Of,
    Public,
    Shows,
    filled,
)
from socialsite.tests.blocks.block_world import World
from socialsite.tests.support.routes import IN_ADMIN, PER_MODEL, addresses, routes

TABLES = ((True, MATRIX), (False, PAGES))
METHODS = ("get", "post", "put", "patch", "delete")
# These depend on the length of the typed name, and on earlier requests.
NOT_OF_IT = (
    "Content-Length",
    "X-Request-ID",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)
# Hidden's own ids in a path or a body, and the parameters of addresses that take them.
HIDDENS = re.compile(
    r"{(hidden|username|post_id|private_id|few_id|alone_id|comment_id|film_id|private_film_id)}"
)
TAKING = re.compile(r"<\w+:(user_id|username|post_id|comment_id|subject_id)>")


# --- the addresses ------------------------------------------------------------------------------
def test_every_address_is_in_the_matrix() -> None:
    known = {*NOBODY, *(f"{V1}{address}" for address in (*NOBODY, *MATRIX)), *PAGES}
    known |= {IN_ADMIN + address for address in ADMIN_PAGES}
    models = {f"{model._meta.app_label}/{model._meta.model_name}" for model in admin.site._registry}
    assert models == set(ADMIN), "say in ADMIN what staff find there"
    there = set(addresses())
    of_models = {a for a in there if (match := PER_MODEL.fullmatch(a)) and match[1] in models}
    lacking = there - known - of_models
    assert not lacking, f"say in the tables of block_matrix who is shown what at {lacking}"
    taking = [address for address in NOBODY if TAKING.search(address)]
    assert not taking, f"these name somebody: {taking}"
    gone = [a for a in MATRIX if V1 + a not in there] + [a for a in PAGES if a not in there]
    assert not gone, f"these are no addresses: {gone}"


def test_every_method_is_called_and_proves_something() -> None:
    views = dict(routes())
    for is_api, table in TABLES:
        for address, calls in table.items():
            view = views[V1 + address if is_api else address]
            kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
            called = {call.method for call in calls}
            assert called, f"{address} is never called"
            if is_api:
                lacks = {name for name in METHODS if hasattr(kind, name)} - called
                assert not lacks, f"{address} is never called by {lacks}"
            for call in calls:
                assert call.method != "get" or call.sees, f"{call.path} proves nothing"


def test_only_the_addresses_of_relations_reveal_blocks() -> None:
    """For all other addresses somebody who blocks the reader does not exist."""
    disclosed = {
        address
        for _is_api, table in TABLES
        for address, calls in table.items()
        if any(isinstance(call, Disclosed) for call in calls)
    }
    assert disclosed == DISCLOSED
    for _is_api, table in TABLES:
        for address, calls in table.items():
            compared = {call.method for call in calls if _is_compared(call)}
            lacks = {call.method for call in calls} - compared
            if TAKING.search(address):
                assert not lacks, f"{address}: compare what {lacks} answers to whom Hidden blocks"
            for call in calls:
                free = isinstance(call, Free) or (isinstance(call, Shows) and call.method != "get")
                assert free or _is_compared(call) or not _names_hidden(call), call.path


def _names_hidden(call: Call) -> bool:
    return HIDDENS.search(f"{call.path} {' '.join(call.data.values())}") is not None


def _is_compared(call: Call) -> bool:
    if isinstance(call, Shows):
        return call.method == "get" and _names_hidden(call)
    return isinstance(call, Of | Alike | Disclosed) and _names_hidden(call)


@pytest.mark.django_db
def test_every_method_of_a_page_is_called(make_user: Any) -> None:
    browser = Client()
    browser.cookies["access"] = accounts_actions.sign_in(make_user(), "chrome").access
    for address, calls in PAGES.items():
        path = re.sub(r"<\w+:\w+>", "1", address)
        answer = browser.generic("BREW", f"/{path}")
        assert answer.status_code == 405, f"{address} takes any method"
        allowed = {name.strip().lower() for name in answer["Allow"].split(",")}
        lacks = allowed - {"head", "options"} - {call.method for call in calls}
        assert not lacks, f"{address} is never called by {lacks}"


def _these(marks: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: marks[name] for name in names}


class Walk:
    """Calls addresses as readers, and collects violations."""

    def __init__(self, world: World, api_for: Callable[..., Any]) -> None:
        self.world = world
        self.wrong: list[Any] = []
        self.state = ""
        self.proven: set[tuple[str, bool, Call]] = set()
        self.clients: dict[tuple[str, bool], Any] = {}
        self.nothing: dict[tuple[str, Call, bool], tuple[int, str]] = {}
        for name in (*READERS, *world.owners):
            user = world.users.get(name) or world.owners.get(name)
            browser = Client()
            if user is not None:
                pair = accounts_actions.sign_in(user, "chrome")
                browser.cookies["access"], browser.cookies["refresh"] = pair.access, pair.refresh
            self.clients[name, False] = browser
            self.clients[name, True] = APIClient() if user is None else api_for(user)

    def send(
        self, reader: str, is_api: bool, method: str, path: str, *args: Any, **more: Any
    ) -> Any:
        """Send one request; all requests here go through this method."""
        return getattr(self.clients[reader, is_api], method)(path, *args, **more)

    def ask(self, reader: str, call: Call, is_api: bool, nothing: bool = False) -> tuple[int, str]:
        """Return the status and the text, including the headers."""
        path = self.world.filled(f"/{V1 if is_api else ''}{call.path}", reader, nothing)
        data = filled(call.data, lambda text: self.world.filled(text, reader, nothing))
        options: dict[str, Any] = {"format": "json"} if is_api and call.method != "get" else {}
        if call.htmx:
            options["headers"] = {"HX-Request": "true"}
        answer = self.send(reader, is_api, call.method, path, *([data] if data else []), **options)
        there = sorted((key, text) for key, text in answer.headers.items() if key not in NOT_OF_IT)
        return answer.status_code, f"{answer.content.decode()}{there}"

    def check(self, reader: str, call: Call, is_api: bool) -> None:
        """Make the call, and search for marks that this reader must not find, or must find."""
        status, text = self.ask(reader, call, is_api)
        where = f"{self.state}: {reader} {call.method} {V1 if is_api else '/'}{call.path}"
        if status >= 500:
            self.wrong.append(f"{where}: {status}")
        # Texts of the address or the body were known before.
        given = self.world.filled(f"{call.path} {' '.join(call.data.values())}", reader)
        role = "anonymous" if isinstance(call, Public) else reader
        hidden = self._hidden_from(role, call)
        found = [
            name for name, mark in hidden.items() if mark and mark not in given and mark in text
        ]
        found += [mark for mark in self.world.never if mark in text]
        if found:
            self.wrong.append(f"{where}: shows {found}")
        if isinstance(call, Public) and text != self.ask("anonymous", call, is_api)[1]:
            self.wrong.append(f"{where}: not what a guest gets")
        if reader in call.proof:
            self._prove(reader, call, is_api, status, text, where)
        elif self._signed_out(reader, call, is_api):
            if status < 300 or (is_api and status != 401):
                self.wrong.append(f"{where}: {status} without a sign-in")
        elif isinstance(call, Of) and self._refused(role, call):
            signed_out = 401 if is_api else 302
            refused = (404, signed_out) if reader in OUT else (404,)
            self._compare(reader, call, is_api, status, text, where)
            if status not in refused:
                self.wrong.append(f"{where}: {status}")
        elif self._is_nobody(reader, call):
            self._compare(reader, call, is_api, status, text, where)

    def _prove(
        self, reader: str, call: Call, is_api: bool, status: int, text: str, where: str
    ) -> None:
        """Check that allowed marks are found: a response without any mark proves nothing."""
        self.proven.add((reader, is_api, call))
        role = "anonymous" if isinstance(call, Public) else reader
        marks, hidden = self.world.marks, self._hidden_from(role, call)
        wanted = {
            name: marks.get(name) or self.world.filled(name, reader)
            for name in call.sees
            if name not in hidden
        }
        lacks = [name for name, text_of in wanted.items() if text_of not in text]
        if lacks:
            self.wrong.append(f"{where}: {status}, lacks {lacks}")
        if call.method != "get" and not call.sees and status >= 400:
            self.wrong.append(f"{where}: {status}, although it is allowed")

    @staticmethod
    def _signed_out(reader: str, call: Call, is_api: bool) -> bool:
        if reader == "banned" and is_api:
            return True
        return reader in OUT and call.method != "get"

    def _hidden_from(self, reader: str, call: Call) -> dict[str, str]:
        marks = self.world.marks
        # Hidden alone sees a post for nobody else; the follower is whom the other names.
        alone = {} if reader == "hidden" else _these(marks, "alone", "alone_id")
        secret = {"secret": marks["secret"], **alone}
        if reader in call.names:
            return {name: mark for name, mark in marks.items() if name not in NAMES}
        if reader in APART:
            return marks
        few = {} if reader in ("follower", "hidden") else _these(marks, "few", "few_id")
        if reader in ("follower", *self.world.owners):
            return few | secret
        return _these(marks, "private", "private_id") | few | secret

    def _refused(self, reader: str, call: Call) -> bool:
        if reader in call.names:
            return False
        if call.own and reader != "hidden":
            return True
        return reader in APART or (call.private and reader != "follower")

    @staticmethod
    def _is_nobody(reader: str, call: Call) -> bool:
        """Return True if Hidden does not exist for the reader, at any address."""
        if isinstance(call, Alike):
            return reader == "blocked"  # people blocked by the others see their own block
        return isinstance(call, Shows) and _is_compared(call) and reader in ("blocked", "mutual")

    def _compare(
        self, reader: str, call: Call, is_api: bool, status: int, text: str, where: str
    ) -> None:
        key = (reader, call, is_api)
        if key not in self.nothing:
            there_is_none, other = self.ask(reader, call, is_api, nothing=True)
            self.nothing[key] = there_is_none, self._plain(other, reader, call, nothing=True)
        if (status, self._plain(text, reader, call)) != self.nothing[key]:
            self.wrong.append(f"{where}: {status} and not {self.nothing[key][0]}, or other words")

    def _plain(self, text: str, reader: str, call: Call, *, nothing: bool = False) -> str:
        """Remove the reader's own input, tokens, and the badge of other notifications."""
        typed = re.findall(r"{\w+}", f"{call.path} {' '.join(call.data.values())}")
        for name in typed:
            text = text.replace(self.world.filled(name, reader, nothing), name)
        text = re.sub(r'<b class="badge".*?</b>', "", text)
        return re.sub(r"[A-Za-z0-9]{64}", "token", text)

    def remember(self) -> None:
        """Fill the caches: let readers read everything that will be hidden from them."""
        for is_api, table in TABLES:
            for call in (call for calls in table.values() for call in calls):
                if call.method == "get":
                    for reader in (*APART, "banned"):
                        self.ask(reader, call, is_api)

    def count(self, readers: Iterable[str]) -> None:
        """Compare the numbers of unread and new items with the items that the reader is shown."""
        readers = [reader for reader in readers if reader not in OUT]
        for reader in readers:
            self._read(reader, "feed")
            page = self._read(reader, "notifications?size=100")["items"]
            unread = sum(not item["read"] for item in page)
            if self._read(reader, "notifications/unread-count")["count"] != unread:
                self.wrong.append(f"{self.state}: {reader} counts other than {unread} unread")
            if reader in MEMBERS and not unread:
                self.wrong.append(f"{self.state}: {reader} has nothing unread")
        world = self.world
        fresh = {
            str(feeds_actions.publish(person, content="new").pk) for person in world.owners.values()
        }
        if world.never:  # followed by the stranger, and in nobody's count
            feeds_actions.publish(world.gone, content="new")
        fresh.add(str(feeds_actions.repost(world.third, world.names["post_id"], "again")[0].pk))
        for reader in readers:
            count = self._read(reader, "feed/new-count")["count"]
            shown = sum(item["id"] in fresh for item in self._read(reader, "feed?size=20")["items"])
            if count != shown:
                self.wrong.append(f"{self.state}: {reader} counts {count} new, shown {shown}")
            if reader in MEMBERS and count != (3 if reader == "follower" else 2):
                self.wrong.append(f"{self.state}: {reader} counts {count} new")

    def _read(self, reader: str, path: str) -> Any:
        return self.send(reader, True, "get", f"/{V1}{path}").json()

    def all(self, readers: tuple[str, ...] = READERS, *, reads_only: bool = False) -> None:
        """Walk the whole table; a reader with permission does once what others are refused."""
        for is_api, table in TABLES:
            for call in (call for calls in table.values() for call in calls):
                for reader in readers:
                    if call.method == "get":
                        self.check(reader, call, is_api)
                    elif not reads_only and (isinstance(call, Shows) or reader in (*APART, *OUT)):
                        with undone():
                            self.check(reader, call, is_api)
                for reader in call.proof:
                    if call.method != "get" and (reader, is_api, call) not in self.proven:
                        with undone():
                            self.check(reader, call, is_api)

    # --- the admin ------------------------------------------------------------------------------
    def find_as_staff(self) -> list[str]:
        """Let staff read the admin by following its links; return all of its addresses."""
        paths = []
        for name, listed in ADMIN.items():
            base = f"/{IN_ADMIN}{name}/"
            text = self._find(f"{base}?q={listed.asked}", listed.in_list)
            links = re.findall(rf"{base}(\d+)/change/", text)
            model = apps.get_model(name.replace("/", "."))
            links.append(str(model._default_manager.latest("pk").pk))  # for a list without links
            hidden = self.world.marks["hidden"]
            row = hidden if hidden in links else links[0]
            self._find(f"{base}{row}/change/", listed.on_page)
            ends = ("", "history/", "delete/", "change/")
            paths += [base, f"{base}add/", *(f"{base}{row}/{end}" for end in ends)]
        for page in ADMIN_PAGES.values():
            path = self.world.filled(f"/{IN_ADMIN}{page.asked}", "staff")
            self._find(path, page.in_list)
            paths.append(path)
        return paths

    def _find(self, path: str, wanted: Iterable[str]) -> str:
        path = self.world.filled(path, "staff")
        answer = self.send("staff", False, "get", path)
        text = answer.content.decode()
        marks = self.world.marks
        # The search field repeats its text.
        seen = text.replace(f'value="{path.partition("?q=")[2]}"', "")
        lacks = [n for n in wanted if (marks.get(n) or self.world.filled(n, "staff")) not in seen]
        if lacks or answer.status_code >= 500:
            self.wrong.append(f"{self.state}: staff {path}: {answer.status_code}, lacks {lacks}")
        return text

    def refuse(self, readers: Sequence[str], paths: Iterable[str]) -> None:
        """Request admin pages as people without staff rights: nothing may be shown or done."""
        marks = [*self.world.marks.values(), *self.world.of_gone]
        asked = [("get", reader) for reader in readers] + [("post", readers[-1])]
        for path in paths:
            for method, reader in asked:
                answer = self.send(reader, False, method, path)
                text = answer.content.decode() + answer.headers.get("Location", "")
                found = [mark for mark in marks if mark in text and mark not in path]
                if found or not 300 <= answer.status_code < 500:
                    where = f"{self.state}: {reader} {method} {path}: {answer.status_code}"
                    self.wrong.append(f"{where}, shows {found}")


@contextlib.contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# A ban makes all cached readers stale, so the effect of a block alone is checked before.
OTHERS = tuple(name for name in READERS if name != "banned")
EVERYBODY = {"blocked": OTHERS, "banned": (*APART, "banned"), "cold": READERS, "dead": READERS}
FEW = {
    "blocked": (*APART, "follower"),
    "banned": ("banned",),
    "cold": ("mutual", "stranger"),
    "dead": ("blocked", "anonymous"),
}


@pytest.mark.slow(reason="thousands of requests")
@pytest.mark.django_db
@pytest.mark.parametrize(
    "readers",
    [
        pytest.param(
            FEW,
            id="some",
            marks=pytest.mark.skipif(connection.vendor == "mysql", reason="all of it runs here"),
        ),
        *(
            pytest.param(
                {state: EVERYBODY[state] for state in states},
                id="all-" + "-".join(states),
                marks=pytest.mark.full,
            )
            for states in (("blocked", "banned"), ("cold", "dead"))
        ),
    ],
)
def test_nobody_finds_anything_that_is_not_for_them(
    readers: Mapping[str, tuple[str, ...]],
    make_user: Any,
    api_for: Any,
    drain: Any,
    dead_redis: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(make_user)
    drain()
    fold_notifications()
    walk = Walk(world, api_for)
    walk.remember()  # fills the caches with what will be forbidden
    world.block()
    staff_pages = walk.find_as_staff()
    for state, some in readers.items():
        walk.state = state
        with contextlib.ExitStack() as stack:
            if state != "blocked" and not world.never:
                world.ban()
            if state == "cold":
                drain()
                fold_notifications()
                stack.enter_context(emptied(monkeypatch))
            elif state == "dead":
                stack.enter_context(dead_redis())
            walk.count(some)
            walk.all(some, reads_only=state in ("banned", "cold"))
            members = [name for name in some if name != "staff"]
            if state != "cold":
                walk.refuse(members if state == "blocked" else members[-1:], staff_pages)
    assert not walk.wrong, "\n".join(walk.wrong)


@contextlib.contextmanager
def emptied(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give every request an empty Redis."""
    send = Walk.send

    def send_cold(self: Walk, *args: Any, **kwargs: Any) -> Any:
        redis.call(lambda connection: connection.flushdb())
        return send(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "send", send_cold)
        yield
