"""API requests generated from the site's own schema, most with one hostile part.

The sender is signed in and the ids exist, so that requests reach the deep code. Only one field, one
id or one header is odd. Now and then somebody else reads the written content as a page.
"""

import time
from typing import Any

from chaos.campaign.client import Client
from chaos.campaign.fuzz import schema
from chaos.campaign.fuzz.conformance import Conformance
from chaos.campaign.fuzz.hostile_values import BAD_CURSORS, Dice
from chaos.campaign.fuzz.schema import Operation
from chaos.campaign.fuzz.valid_values import Known, Values
from chaos.campaign.site.people import V1, Person
from chaos.campaign.site.requests import Answer, Form, Json, Query, Raw, Request

# The content types of a part of a file and of captions, and some of these.
PART = "application/offset+octet-stream"
VTT = "text/vtt"
CAPTIONS = (
    b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n",
    b"WEBVTT\n\nSTYLE\n::cue {}\n\n00:01.000 --> 99:99.999 position:x\n<v a>\x00\n",
    b"WEBVTT\n\n" + b"1:1.1-->" * 2000,
    b"\xff\xfe\x00",
)

WRITES, HOSTILE, READ_BACK = 0.6, 0.55, 0.3
# Addresses of sessions and accounts: rare, otherwise nothing else would be reached.
SELDOM = ("/auth/",)
SELDOM_SHARE = 0.2
MEMBERS = ("member", "blocked")
RENEW_SECONDS = 20.0


class ApiFuzz:
    """The API fuzz of one thread; its own people come first in `people`."""

    def __init__(
        self,
        client: Client,
        document: dict[str, Any],
        people: list[Person],
        values: Values,
    ) -> None:
        self.client, self.people, self.values = client, people, values
        self.conformance = Conformance(document)
        operations = schema.operations(document)
        self.dice: Dice = values.dice
        self.known: Known = values.known
        self.reads = [one for one in operations if not one.writes]
        self.writes = [one for one in operations if one.writes and not _is_seldom(one)]
        self.seldom = [one for one in operations if one.writes and _is_seldom(one)]
        self.renewed = time.monotonic()

    def step(self) -> None:
        """Send one request, and check the result."""
        operation = self._operation()
        person = self.dice.choices(self.people, [p.weight for p in self.people])[0]
        request = self._valid(operation, person)
        hostile = self.dice.random() < HOSTILE
        if hostile:
            request = self._mutated(request, operation)
        answer = self.client.send(request, person)
        self._judge_document(operation, request, answer)
        if request.writes:
            self.client.journal.note_write(request, answer)
        if answer.accepted:
            found = answer.json()
            self.known.learn(found, person)
            self._follow_up(operation, request, answer, person)
        if time.monotonic() - self.renewed > RENEW_SECONDS:
            self.renewed = time.monotonic()
            person.renew(self.client.wire)

    def _operation(self) -> Operation:
        if self.dice.random() > WRITES:
            return self.dice.choice(self.reads)
        seldom = self.dice.random() < SELDOM_SHARE
        return self.dice.choice(self.seldom if seldom else self.writes)

    def _valid(self, operation: Operation, person: Person) -> Request:
        path = operation.path
        for name in operation.path_parameters:
            path = path.replace(f"{{{name}}}", self.values.parameter(name, path, person))
        query: Query = tuple(
            (name, self.values.parameter(name, path, person))
            for name in operation.query_parameters
            if name in ("ids", "q") or self.dice.random() < 0.3
        )
        headers = {}
        if operation.takes_key and self.dice.random() < 0.3:
            headers["Idempotency-Key"] = f"k{self.dice.randrange(50)}"
        if path.endswith("/introspect"):
            headers["Authorization"] = f"Bearer {self.client.site.env['SERVICE_KEYS']}"
        body: Json | Form | Raw | None = None
        if operation.kind.startswith("multipart"):
            body = Form((("file", self.values.picture()), ("alt", self.dice.words(60))))
        elif operation.kind == PART:
            headers["Upload-Offset"] = str(self.dice.choice((0, 0, 5, 10**6)))
            body = Raw(self.dice.randbytes(self.dice.choice((0, 5, 64, 5000))), PART)
        elif operation.kind == VTT:
            body = Raw(self.dice.choice(CAPTIONS), VTT)
        elif operation.kind:
            body = Json(self.values.body(operation, person))
        return Request(operation.method, path, query, headers, body)

    # --- one hostile part
    # ---------------------------------------------------------------------------
    def _mutated(self, request: Request, operation: Operation) -> Request:
        ways = [self._header, self._query, self._credential]
        if operation.path_parameters:
            ways += [self._id] * 3
        if request.body is not None:
            ways += [self._field] * 5 + [self._garbage, self._extra]
        return self.dice.choice(ways)(request, operation)

    def _field(self, request: Request, operation: Operation) -> Request:
        """Return another value of one field, or none."""
        name = self.dice.choice(list(operation.properties) or ["content"])
        if isinstance(request.body, Form):
            odd = (name, self.dice.hostile_text())
            return request.replace(body=Form((odd, *request.body.fields), True))
        values = dict(request.body.value) if isinstance(request.body, Json) else {}
        if self.dice.random() < 0.15:
            values.pop(name, None)
        else:
            text = operation.properties.get(name, {}).get("type") == "string"
            hostile = text and self.dice.random() < 0.6
            values[name] = self.dice.hostile_text() if hostile else self.dice.odd_value()
        return request.replace(body=Json(values))

    def _extra(self, request: Request, operation: Operation) -> Request:
        """Return read-only or unknown fields."""
        if not isinstance(request.body, Json):
            return request
        extra: dict[str, Any] = self.dice.choice(
            [
                {"id": "1", "author": "1", "user_id": 1, "roles": 7, "is_staff": True},
                {"banned_at": None, "created_at": "2001-01-01", "like_count": 10**6},
                {self.dice.hostile_text(50): self.dice.odd_value()},
                {"__proto__": {"a": 1}, "constructor": 1, "": 1},
                {str(number): number for number in range(1000)},
            ]
        )
        return request.replace(body=Json(request.body.value | extra))

    def _garbage(self, request: Request, operation: Operation) -> Request:
        """Return an invalid body, or another JSON value than an object."""
        if self.dice.random() < 0.3:
            return request.replace(body=Json(self.dice.odd_value()))
        return request.replace(body=Raw(*self.dice.garbage()))

    def _id(self, request: Request, operation: Operation) -> Request:
        """Return an invalid id, the id of another type, or the id of a deleted object."""
        known, dice = self.known, self.dice
        odd = dice.bad_id()
        if dice.random() < 0.6:
            kinds = (known.deleted, known.comments, known.users, known.posts, known.notifications)
            odd = self.values.one_of(dice.choice(kinds), odd)
        parts, filled = operation.path.split("/"), request.path.split("/")
        places = [number for number, part in enumerate(parts) if part.startswith("{")]
        if len(parts) == len(filled) and places:
            filled[dice.choice(places)] = odd.replace("/", "%2F")
            return request.replace(path="/".join(filled))
        return request.replace(path=request.path + "/" + odd)

    def _query(self, request: Request, operation: Operation) -> Request:
        """Return another value of a parameter, known or unknown."""
        name = self.dice.choice([*operation.query_parameters, "cursor", "size", "page", "format"])
        odd = self.dice.choice([*BAD_CURSORS, self.dice.bad_id(), self.dice.hostile_text(300)])
        if name == "cursor" and self.dice.random() < 0.5:
            odd = self.values.one_of(self.known.cursors, odd)
        if name == "ids" and self.dice.random() < 0.3:
            odd = ",".join(["1"] * 5000)
        kept = tuple(pair for pair in request.query if pair[0] != name)
        return request.replace(query=(*kept, (name, odd)))

    def _header(self, request: Request, operation: Operation) -> Request:
        """Return one odd header."""
        name, text = self.dice.odd_header()
        return request.replace(headers=request.headers | {name: text})

    def _credential(self, request: Request, operation: Operation) -> Request:
        """Return no credential, or one of another kind."""
        return request.replace(
            headers=request.headers | {"Authorization": self.dice.choice(["", "Bearer é", "x"])}
        )

    # --- results
    # ------------------------------------------------------------------------------------
    def _judge_document(self, operation: Operation, request: Request, answer: Answer) -> None:
        """Check that the response is one that the OpenAPI document describes."""
        if set(request.headers) - {"Authorization", "Idempotency-Key"}:
            return  # a web server may refuse an odd header before the API reads it
        what = self.conformance.violation(operation, answer)
        journal = self.client.journal
        if what and journal.first("document", f"{operation.method} {operation.path} {what}"):
            journal.find("document", "fuzz", f"{operation.path}: {what}", request)

    def _follow_up(
        self, operation: Operation, request: Request, answer: Answer, person: Person
    ) -> None:
        """Store new credentials of the person, and let somebody read the written content."""
        path, found = operation.path, answer.json() or {}
        sent = request.body.value if isinstance(request.body, Json) else {}
        if not isinstance(sent, dict) or not isinstance(found, dict):
            return
        person.learn(path.removeprefix(V1), operation.method, sent, found)
        if operation.method == "DELETE" and operation.path.endswith(("{post_id}", "{comment_id}")):
            self.known.deleted.append(request.path.rpartition("/")[2])
        if request.writes and self.dice.random() < READ_BACK:
            reader = self.dice.choice([*self.people, self.client.guest])
            self.client.send(Request("GET", self._page_of(found, request, person)), reader)

    def _page_of(self, found: dict[str, Any], request: Request, person: Person) -> str:
        """Return the page that shows the written content."""
        ident = str(found.get("id", ""))
        parts = request.path.split("/")
        if "visibility" in found and ident.isdigit():
            return f"/posts/{ident}"
        if "posts" in parts and len(parts) > 4:
            return f"/posts/{parts[4]}"
        return self.dice.choice((f"/@{person.username}", "/", "/recommended", "/notifications"))


def _is_seldom(operation: Operation) -> bool:
    return any(part in operation.path for part in SELDOM)
