"""Every address of the site with every method, as every viewer; sockets and the admin too.

The checks here are general: a response shows no forbidden mark, is no server error, and without
signing in nothing is changed. An address that no table lists fails the campaign.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, get_resolver
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from chaos.campaign.client import Client
from chaos.campaign.matrix.access import PART, Matrix
from chaos.campaign.matrix.world import VIEWERS
from chaos.campaign.site.people import Person
from chaos.campaign.site.requests import MUTATING, Form, Json, Request, split
from chaos.campaign.site.sites import HOST
from socialsite import asgi
from socialsite.tests.blocks.block_matrix import (
    ADMIN,
    ADMIN_PAGES,
    APART,
    MATRIX,
    NOBODY,
    OUT,
    PAGES,
    V1,
)
from socialsite.tests.support.routes import SOCKET_ADDRESSES

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
NEWS = ("new_posts", "notification")
IN_ADMIN = "admin/"
# A device subscribes only at a push service whose name can be resolved.
PUSHES = "accounts/pushsubscription"
PER_MODEL = re.compile(r"admin/(\w+/\w+)/(add/|<path:object_id>/(history/|delete/|change/)?)?")
PARAMETER = re.compile(r"<\w+:(\w+)>|\(\?P<(\w+)>[^)]*\)")
# Addresses where a guest may send a form: sign-in, sign-up, choices that a cookie keeps.
OPEN = re.compile(
    r"(api/v1/auth/|login|register|recover|email/|i18n/|settings/reading|logout|media/|admin/(log|password))"
)
STAFF = ("staff",)
SECONDS_TO_HEAR, SECONDS_AFTER = 20.0, 2.0


def routes(patterns: Any = None, before: str = "") -> Iterator[str]:
    """Yield all addresses as the site writes them."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address
        else:
            yield from routes(pattern.url_patterns, address)


def unlisted() -> list[str]:
    """Return the addresses without a row in the access tables."""
    known = {*NOBODY, *(f"{V1}{address}" for address in (*NOBODY, *MATRIX)), *PAGES}
    known |= {IN_ADMIN + address for address in ADMIN_PAGES}
    models = {f"{m._meta.app_label}/{m._meta.model_name}" for m in admin.site._registry}
    there = set(routes())
    known |= {a for a in there if (found := PER_MODEL.fullmatch(a)) and found[1] in ADMIN}
    lacking = [f"admin/{model}" for model in models - set(ADMIN)]
    sockets = [str(route.pattern) for route in asgi.routes]
    return sorted(there - known) + lacking + [one for one in sockets if one not in SOCKET_ADDRESSES]


class Routes:
    """All addresses, filled with the ids of Hidden's objects."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.world, self.journal = matrix, matrix.world, matrix.journal
        self.staff_pages: list[str] = []
        self.chosen: Callable[[], bool] = lambda: True

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield each address with a path, or several paths if it fits several objects."""
        names, pictures = self.world.names, self.world.pictures
        values = {
            "username": [names["username"]],
            "user_id": [names["hidden"]],
            "post_id": [names["post_id"], names["private_id"]],
            "comment_id": [names["comment_id"]],
            "client": ["chrome"],
            "token": ["x"],
            "kind": ["post"],
            "subject_id": [names["private_id"]],
            "path": [pictures["private"].removeprefix("/media/"), "..", "x" * 300],
            "object_id": [names["hidden"]],
            "content_type_id": ["1"],
            "app_label": ["accounts"],
            "url": ["nowhere"],
        }
        for address in dict.fromkeys(routes()):
            found = [one or other for one, other in PARAMETER.findall(address)]
            for number in range(max((len(values.get(name, "1")) for name in found), default=1)):

                def value(match: re.Match[str], number: int = number) -> str:
                    return _nth(values.get(match[1] or match[2], ["1"]), number)

                path = PARAMETER.sub(value, address)
                yield address, "/" + path.replace("^", "").replace("$", "").replace("\\", "")

    def try_all(self) -> None:
        """Request every address with every method, as every viewer."""
        asked = [(address, path, method) for address, path in self.paths() for method in METHODS]

        def work(client: Client, viewer: str) -> None:
            for address, path, method in asked:
                if self.chosen():
                    self._try(client, viewer, address, path, method)
            for act in ("like", "bookmark"):  # one of the requests removed them
                path = self.world.filled(f"posts/{{post_id}}/{act}", viewer)
                if self.matrix.role(viewer) not in OUT:
                    self.world.people[viewer].call(client.wire, "PUT", path)

        self.matrix.each((*VIEWERS,), work)

    def _try(self, client: Client, viewer: str, address: str, path: str, method: str) -> None:
        matrix, role = self.matrix, self.matrix.role(viewer)
        staff = role in STAFF
        covered = any(act in path for act in ("block", "follow", "remove", "suggest"))
        if method in MUTATING and (staff or covered):
            return  # staff may do it, and the tables cover the other
        is_api = path.startswith("/api/")
        body = None if method not in MUTATING else Json({}) if is_api else Form(())
        request = Request(method, path, body=body)
        answer = matrix.send(client, viewer, request)
        if staff and path.startswith("/admin/"):
            return
        table = MATRIX.get(address.removeprefix(V1), []) if is_api else PAGES.get(address, [])
        matrix.look(client, viewer, request, answer, table)
        of_no_person = NOBODY.get(address) == "of no person" or OPEN.match(address)
        if answer.accepted and method in MUTATING and role in OUT and not of_no_person:
            matrix.leak(viewer, request, f"{answer.status} without a sign-in")

    # --- the admin ------------------------------------------------------------------------------
    def staff_find(self) -> None:
        """Let a moderator read the admin by following its links, and keep all of its addresses."""
        client = Client(self.world.site, self.journal, PART)
        for name, listed in ADMIN.items():
            if name == PUSHES:
                continue
            base = f"/{IN_ADMIN}{name}/"
            text = self._find(client, f"{base}?q={listed.asked}", listed.in_list)
            links = re.findall(rf"{base}(\d+)/change/", text)
            if not links:
                continue
            hidden = self.world.hidden.id
            row = hidden if hidden in links else links[0]
            self._find(client, f"{base}{row}/change/", listed.on_page)
            ends = ("", "history/", "delete/", "change/")
            self.staff_pages += [base, f"{base}add/", *(f"{base}{row}/{end}" for end in ends)]
        for page in ADMIN_PAGES.values():
            path = self.world.filled(f"/{IN_ADMIN}{page.asked}", "moderator")
            self._find(client, path, page.in_list)
            self.staff_pages.append(path)

    def _find(self, client: Client, path: str, wanted: tuple[str, ...]) -> str:
        request = Request("GET", *split(self.world.filled(path, "moderator")))
        answer = self.matrix.send(client, "moderator", request)
        marks = self.world.marks
        seen = answer.text
        for _, value in request.query:
            seen = seen.replace(f'value="{value}"', "")
        lacks = [
            name
            for name in wanted
            if (marks.get(name) or self.world.filled(name, "moderator")) not in seen
        ]
        if lacks:
            self.matrix.control("moderator", request, f"{answer.status}, lacks {lacks}")
        return answer.text

    def keep_out(self) -> None:
        """Request admin pages as people without staff rights: nothing may be shown or done."""
        marks = [*self.world.marks.values(), *self.world.of_gone]

        def work(client: Client, viewer: str) -> None:
            for path in self.staff_pages:
                for method in ("GET", "POST"):
                    request = Request(method, *split(path))
                    if not self.chosen():
                        continue
                    answer = self.matrix.send(client, viewer, request)
                    said, given = answer.everything, request.given
                    found = [one for one in marks if one in said and one not in given]
                    if found or 200 <= answer.status < 300:
                        self.matrix.leak(viewer, request, f"{answer.status}, shows {found}")

        outside = [one for one in VIEWERS if self.matrix.role(one) not in STAFF]
        self.matrix.each(outside, work)

    # --- sockets --------------------------------------------------------------------------------
    def listen(self) -> None:
        """Let Hidden act in ways that notify people, while every viewer listens."""
        matrix, world = self.matrix, self.world
        client = Client(world.site, self.journal, PART)
        open_sockets: dict[str, ClientConnection] = {}
        for viewer in VIEWERS:
            matrix.cells[matrix.state] += 1
            if world.people[viewer].access:
                world.people[viewer].renew(client.wire)  # a socket lives as long as its token
            socket = open_socket(world.people[viewer], client)
            if socket is not None:
                open_sockets[viewer] = socket
            elif matrix.role(viewer) not in OUT:
                matrix.control(viewer, Request("GET", "/ws/session/"), "no socket")
        called = " ".join(f"@{person.username}" for _, person in world.viewers())
        post = world._post(world.hidden, f"zqheard {called}")
        for name, _viewer in world.viewers():
            world.hidden.call(world.wire, "PUT", f"posts/{world.mine[name]}/like")
        # Wait for those who must be notified: by then wrong notifications would have arrived too.
        hearing = sorted(open_sockets, key=lambda name: matrix.role(name) != "follower")
        until = time.monotonic() + SECONDS_TO_HEAR
        for viewer in hearing:
            follows = matrix.role(viewer) == "follower"
            if not follows:
                until = min(until, time.monotonic() + SECONDS_AFTER)
            heard = _heard(open_sockets[viewer], until)
            request = Request("GET", "/ws/session/")
            shown = [m for m in (*world.marks.values(), *world.of_gone, post) if m in str(heard)]
            news = [m for m in heard if m.get("type") in NEWS]
            if shown or (news and matrix.role(viewer) in (*APART, *OUT)):
                matrix.leak(viewer, request, f"heard {heard}")
            if follows and not news:
                matrix.control(viewer, request, f"heard {heard}")


def _nth(values: list[str], number: int) -> str:
    return values[min(number, len(values) - 1)]


def open_socket(person: Person, client: Client, **headers: str) -> ClientConnection | None:
    """Open the socket of a person by a ticket, of a guest without; return None if refused."""
    query = ""
    if person.access and not headers:
        answer = client.send(Request("POST", f"/{V1}auth/ws-ticket", body=Json({})), person)
        query = f"?ticket={(answer.json() or {}).get('ticket', '')}"
    url = f"ws://{HOST}:{client.site.port}/ws/session/{query}"
    try:
        socket = connect(url, additional_headers=headers, open_timeout=10, proxy=None)
    except (InvalidStatus, OSError):
        return None
    try:
        socket.recv(timeout=0.3)
    except TimeoutError:
        return socket
    except ConnectionClosed:
        return None
    return socket


def _heard(socket: ClientConnection, until: float) -> list[dict[str, Any]]:
    """Return the messages of a socket until a time, or until a notification."""
    found: list[dict[str, Any]] = []
    try:
        while True:
            left = max(0.05, until - time.monotonic())
            found.append(json.loads(socket.recv(timeout=left)))
            if found[-1].get("type") in NEWS:
                break
    except (TimeoutError, ConnectionClosed):
        pass
    socket.close()
    return found


__all__ = ["Routes", "open_socket", "unlisted"]
