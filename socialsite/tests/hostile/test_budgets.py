"""The table of budgets: the docs show it, every address takes from it, and every row refuses."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.admin import site
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.sign_in import attempts
from accounts.tests.browsers import browser_of
from accounts.tests.sign_in.solving import solve
from socialsite.core import db, redis
from socialsite.core.positions import Position
from socialsite.core.rate_limits import allowances, buckets, budgets
from socialsite.core.rate_limits.budget import HOUR, MINUTE, Budget, Guesses, Rate, Store
from socialsite.core.rate_limits.budgets import TABLE
from socialsite.core.runtime import service_keys
from socialsite.tests.support.routes import PER_MODEL, addresses

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
KEY = "k" * 32
V1 = "api/v1/"
DOCS = Path(configured.BASE_DIR, "docs/abuse.md")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


# --- the docs -----------------------------------------------------------------------------------
def token_rows() -> list[str]:
    """Return the rows of the docs' table of budgets."""
    return [
        f"| `{row.name}` | {row.capacity} | {row.hourly or ''} | {row.per} | {row.store}"
        f" | {row.about} |"
        for row in TABLE.values()
        if not isinstance(row, Guesses)
    ]


def guess_rows() -> list[str]:
    """Return the rows of the docs' table of failed attempts."""
    found = []
    for row in TABLE.values():
        if isinstance(row, Guesses):
            window = {HOUR: "an hour", 24 * HOUR: "a day"}[row.default.window]
            after = "the last attempt, and by a success" if row.idle else "the first"
            found.append(
                f"| `{row.name}` | {row.capacity} | {row.per} | {row.cap // MINUTE} min"
                f" | {window} after {after} | {row.about} |"
            )
    return found


@pytest.mark.once
def test_the_docs_show_the_table() -> None:
    lines = DOCS.read_text().splitlines()
    shown = [line for line in lines if line.startswith("| `") and line.count("|") == 7]
    assert shown == token_rows() + guess_rows()


@pytest.mark.once
def test_names_of_rows_are_names_of_variables_and_fit_into_keys() -> None:
    for name, row in TABLE.items():
        assert name == row.name == name.lower()
        assert getattr(budgets, name.upper()) is row
        assert len(name) <= 20  # part of a 64-character key, beside a hash


# --- every address ------------------------------------------------------------------------------
# Addresses that take from no budget for any input, as they do nothing and read hardly anything.
IDLE = {
    "^api/": "there is nothing",
    "healthz": "says that the process is up",
    "readyz": "asks the database one thing",
    "metrics": "for who has the token",
    ".well-known/jwks.json": "GET only",
    ".well-known/security.txt": "GET only",
    "admin/login/": "leads to the login",
    "admin/password_change/": "leads to the settings",
    "admin/password_change/done/": "leads to the settings",
}
PATHS = {
    "<str:username>": "alice1",
    "<str:colour>": "123456",
    "<str:name>.png": "192.png",
    "<str:kind>": "post",
    "<str:client>": "chrome",
    "(?P<app_label>core|accounts|relations|feeds|interactions)": "accounts",
    "(?P<url>.*)": "nowhere",
    "<path:path>": f"ab/{'ab' * 16}.jpg",
}
SIGN_UP = {"username": "new00001", "nickname": "爱丽丝们", "password": PASSWORD}
# The form or body that a request needs to reach its budget; all others get an empty one.
BODIES = {
    "register": SIGN_UP,
    "auth/register": SIGN_UP | {"username": "new00002"},
    "auth/introspect": {"token": "x"},
    "login": {"username": "alice1", "password": "x"},
    "auth/login": {"username": "alice1", "password": "x"},
    "auth/acts": {"username": "alice1", "password": "x"},
    "auth/reopen": {"username": "alice1", "password": "x"},
    "auth/appeal": {"username": "alice1", "password": "x", "act": "1", "text": "No"},
    "recover": {"email": "a@example.org"},
    "auth/recover": {"email": "a@example.org"},
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A set that gets the name of each budget that is taken from."""
    found: set[str] = set()
    ask, take, enter = buckets.PendingTakes.__init__, allowances._take, attempts._take

    def asked(self: Any, batch: Any, takes: Any) -> None:
        ask(self, batch, takes)
        found.update(one.budget.name for one in self.takes)

    def taken_there(wanted: Any) -> Any:
        found.update(one.budget.name for one, _rate in wanted.values())
        return take(wanted)

    def entered(keys: Any) -> None:
        found.update(one.name for one in keys.values())
        enter(keys)

    monkeypatch.setattr(buckets.PendingTakes, "__init__", asked)
    monkeypatch.setattr(allowances, "_take", taken_there)
    monkeypatch.setattr(attempts, "_take", entered)
    return found


@pytest.fixture
def admin(make_user: Any) -> Any:
    user = make_user("alice1")
    accounts_actions.promote(user, 7)
    return user


def filled(address: str) -> str:
    for pattern, text in PATHS.items():
        address = address.replace(pattern, text)
    parts = ["1" if part.startswith("<") else part.strip("^$") for part in address.split("/")]
    return "/".join("@alice1" if part == "@<str:username>" else part for part in parts)


def addresses_that_differ() -> set[str]:
    """Return every address of the site; for the models in the admin only those of one model."""
    labels = {f"{model._meta.app_label}/{model._meta.model_name}" for model in site._registry}
    others = labels - {"accounts/user"}
    return {
        address
        for address in addresses()
        if not ((match := PER_MODEL.fullmatch(address)) and match[1] in others)
    }


class Visitors:
    """People with the permissions to reach the budgets."""

    def __init__(self, admin: Any) -> None:
        self.admin, self.guests = admin, {True: APIClient(), False: Client()}
        self.service = APIClient()
        self.service.credentials(HTTP_AUTHORIZATION=f"Bearer {KEY}")
        self.sign_in()

    def sign_in(self) -> None:
        client = APIClient()
        client.credentials(
            HTTP_AUTHORIZATION=f"Bearer {accounts_actions.sign_in(self.admin, 'ios').access}"
        )
        self.staff = {True: client, False: browser_of(self.admin)}

    def of(self, address: str) -> list[Any]:
        """Return the people who try an address: first staff, then guests."""
        if address == f"{V1}auth/introspect":
            return [self.service]
        if "logout" in address:
            self.sign_in()
        is_api = address.startswith(V1)
        return [self.staff[is_api], self.guests[is_api]]


@pytest.mark.once
def test_every_address_takes_from_a_budget_by_every_method_that_writes(
    admin: Any, taken: set[str], settings: Any
) -> None:
    settings.SERVICE_KEYS = service_keys.read([KEY])
    visitors, lacks = Visitors(admin), set()
    bodies: dict[str, Any] = BODIES | {
        "auth/refresh": {"refresh": accounts_actions.sign_in(admin, "android").refresh},
    }
    for address, method in itertools.product(sorted(addresses_that_differ()), UNSAFE):
        taken.clear()
        for visitor in visitors.of(address) if address not in IDLE else ():
            body = bodies.get(address.removeprefix(V1), {}) if method == "POST" else None
            more = {"format": "json"} if address.startswith(V1) else {}
            answer = getattr(visitor, method.lower())(f"/{filled(address)}", body, **more)
            if taken or answer.status_code == 405:
                break
        else:
            lacks.add((method, address))
    assert sorted(one for one in lacks if one[1] not in IDLE) == []
    assert IDLE.keys() - addresses_that_differ() == set()


# Reads that take from no budget: forms, which read next to nothing; data in memory; and the first
# page of one's home feed, which is cheap.
FREE_READS = {
    *("login", "login/code", "login/passkey", "login/appeal", "login/reopen"),
    *("register", "recover", "settings/close"),
    *("settings/email", "settings/password", "settings/prove"),
    *("settings/two-factor", "settings/profile", f"{V1}feed", ""),
}


@pytest.mark.once
def test_every_address_that_is_read_takes_from_a_budget(admin: Any, taken: set[str]) -> None:
    visitors, lacks = Visitors(admin), set()
    for address in sorted(addresses_that_differ() - IDLE.keys()):
        for visitor in visitors.of(address) if not address.startswith("admin/") else ():
            taken.clear()
            answer = visitor.get(f"/{filled(address)}")
            refused = answer.status_code in (401, 405) or "/login?" in answer.get("Location", "")
            if not taken and not refused:
                lacks.add(address)
    assert lacks == FREE_READS


def test_no_key_in_redis_contains_an_address(admin: Any) -> None:
    guest = APIClient(REMOTE_ADDR="203.0.113.9")
    for path in ("/recommended", "/search?q=ali", "/api/schema/"):
        guest.get(path)
    guest.post("/api/v1/auth/login", {"username": "nobody1", "password": "x"}, format="json")
    guest.post("/i18n/setlang/", {"language": "en"})
    keys = redis.call(lambda connection: [str(key) for key in connection.scan_iter("*")])
    names = ("guest_read", "search", "schema", "login", "language")
    assert [name for name in names if not any(f"rl:{name}:" in key for key in keys)] == []
    assert [key for key in keys if "203.0.113" in key] == []


# --- every row ----------------------------------------------------------------------------------
class World:
    """A person and objects to act on; every request comes from one IP address."""

    def __init__(self, admin: Any, make_user: Any, make_post: Any) -> None:
        self.other = make_user("bobby1", email="bobby@example.org")
        self.post = make_post(self.other).pk
        self.user = admin
        self.pair = accounts_actions.sign_in(admin, "ios")
        self.client = APIClient()
        self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.pair.access}")
        self.browser, self.guest = browser_of(admin), APIClient()
        self.service = APIClient()
        self.service.credentials(HTTP_AUTHORIZATION=f"Bearer {KEY}")
        self.numbers = itertools.count(1)
        self.cursor = Position(10**12, 1).encode()

    def send(self, method: str, path: str, client: Any = None, **body: Any) -> Any:
        """Send a request to the API, as the person or as somebody else."""
        values: Any = body if method != "get" else body or None
        more = {} if method == "get" else {"format": "json"}
        return getattr(client or self.client, method)(f"/{V1}{path}", values, **more)

    def upload(self) -> Any:
        file = SimpleUploadedFile("a.png", b"no picture")
        return self.client.post(f"/{V1}media", {"file": file}, format="multipart")

    def sign_up(self, **more: str) -> Any:
        name = f"new{next(self.numbers):05}"
        person = {"username": name, "nickname": "SomeNick", "password": PASSWORD}
        more["challenge"] = solve()  # needed once half of the budget is used up
        return self.send("post", "auth/register", self.guest, **person, **more)


# A request that takes from each row; its normal response does not matter.
HOW: dict[str, Callable[[World], Any]] = {
    "sign_up": lambda w: w.sign_up(),
    "sign_up_network": lambda w: w.sign_up(),
    "mail_asker": lambda w: w.send("post", "auth/recover", w.guest, email="a@example.org"),
    "mail_network": lambda w: w.send("post", "auth/recover", w.guest, email="a@example.org"),
    "introspect_refused": lambda w: w.send("post", "auth/introspect", w.client, token="x"),
    "publish": lambda w: w.send("post", "posts", content="hello"),
    "comment": lambda w: w.send("post", f"posts/{w.post}/comments", content="hello"),
    "draft": lambda w: w.send("post", "drafts", content="hello"),
    "edit": lambda w: w.send("patch", "posts/1", version=1, content="hello"),
    "mark": lambda w: w.send("put", f"posts/{w.post}/like"),
    "report": lambda w: w.send("post", "reports", type="post", id=str(w.post), reason="spam"),
    "delete": lambda w: w.send("delete", "posts/1"),
    "follow": lambda w: w.send("post", f"users/{w.other.pk}/follow"),
    "block": lambda w: w.send("delete", f"users/{w.other.pk}/block"),
    "upload": lambda w: w.upload(),
    "video": lambda w: w.send("post", "media/videos"),
    "video_part": lambda w: w.send("delete", "media/uploads/1"),
    "profile": lambda w: w.send("patch", "users/me", bio="hello"),
    "notification": lambda w: w.send("post", "notifications/read"),
    "push": lambda w: w.send("delete", "me/push"),
    "account": lambda w: w.send("post", "auth/password"),
    "appeal": lambda w: w.send("post", "users/me/acts/1/appeal"),
    "export": lambda w: w.send("post", "exports"),
    "export_file": lambda w: w.send("get", "exports/1/file"),
    "import": lambda w: w.send("post", "imports/1/start"),
    "invite": lambda w: w.send("post", "invites"),
    "devices": lambda w: w.send("get", "auth/devices"),
    "login": lambda w: w.send("post", "auth/login", w.guest),
    "refresh": lambda w: w.send("post", "auth/refresh", w.guest, refresh=w.pair.refresh),
    "link": lambda w: w.guest.get("/email/nonsense"),
    "ws_ticket": lambda w: w.send("post", "auth/ws-ticket"),
    "language": lambda w: w.browser.post("/i18n/setlang/", {"language": "en"}),
    "staff": lambda w: w.browser.post("/admin/accounts/user/"),
    "read": lambda w: w.send("get", f"posts/{w.post}"),
    "deep_read": lambda w: w.send("get", "feed", cursor=w.cursor),
    "guest_read": lambda w: w.guest.get(f"/posts/{w.post}"),
    "search": lambda w: w.browser.get("/search?q=b"),
    "completion": lambda w: w.browser.get("/completions?word=@a"),
    "preview": lambda w: w.send("post", "preview", content="hello"),
    "relation_read": lambda w: w.send("get", "relations", ids=str(w.other.pk)),
    "poll": lambda w: w.send("get", "notifications/unread-count"),
    "schema": lambda w: w.guest.get("/api/schema/"),
    "introspect": lambda w: w.send("post", "auth/introspect", w.service, token="x"),
}
# Rows with another form of refusal (sockets close, mails wait, texts may name anybody) or for
# failures; each with the test that reaches its limit.
OF_SOCKETS, OF_MAILS = (
    "accounts/tests/live/test_socket_budgets.py",
    "accounts/tests/sign_in/test_sign_up_budgets.py",
)
OF_ATTEMPTS = "accounts/tests/sign_in/test_attempts.py"
SITE = "test_a_mail_too_many_for_the_site_is_sent_later"
CODES = "test_codes_of_a_known_browser_and_of_who_is_signed_in_have_budgets"
OLD = "test_old_passwords_and_codes_have_budgets_of_their_own"
ELSEWHERE = {
    "sockets": (OF_SOCKETS, "test_a_person_has_so_many_sockets_open_and_more_when_one_is_closed"),
    "sockets_address": (OF_SOCKETS, "test_an_address_has_so_many_sockets_open_whoever_opens_them"),
    "handshake": (OF_SOCKETS, "test_an_address_opens_so_many_sockets_in_a_while"),
    "frame": (OF_SOCKETS, "test_a_socket_takes_so_many_frames_and_no_flood_makes_an_error"),
    "challenge": (
        "accounts/tests/sign_in/test_challenge.py",
        "test_a_right_solution_creates_an_account_and_only_one",
    ),
    "mail_recipient": (OF_MAILS, "test_a_recipient_gets_three_mails_of_a_kind_then_four_an_hour"),
    "mail_mailbox": (
        OF_MAILS,
        "test_many_accounts_together_send_ten_mails_of_a_kind_to_an_address_then_ten_an_hour",
    ),
    "mail_site": (OF_MAILS, SITE),
    "notice": (OF_MAILS, "test_an_account_gets_five_notices_of_one_kind_at_once"),
    "notice_site": (OF_MAILS, SITE),
    "mentions": (
        "interactions/tests/notifying/test_mentions.py",
        "test_how_many_are_notified_is_a_number_of_the_table",
    ),
    "preview_host": (
        "feeds/tests/content/test_previews.py",
        "test_a_host_is_asked_within_its_budget",
    ),
    "push_sent": (
        "interactions/tests/notifying/test_push.py",
        "test_pushes_of_a_person_have_a_budget",
    ),
    "login_here": (
        OF_ATTEMPTS,
        "test_five_failures_are_free_then_each_makes_the_wait_longer_up_to_15_minutes",
    ),
    "login_device": (OF_ATTEMPTS, "test_a_known_browser_has_a_budget_of_its_own"),
    "login_address": (
        OF_ATTEMPTS,
        "test_fifty_failures_an_hour_from_one_address_are_free_then_strangers_wait",
    ),
    "login_account": (
        OF_ATTEMPTS,
        "test_strangers_share_a_hundred_failures_a_day_of_one_account",
    ),
    "code_here": (OF_ATTEMPTS, OLD),
    "code_device": (OF_ATTEMPTS, CODES),
    "code_account": (OF_ATTEMPTS, "test_codes_tried_from_everywhere_are_few"),
    "password": (OF_ATTEMPTS, OLD),
    "own_code": (OF_ATTEMPTS, CODES),
    "sign_up_refused": (OF_ATTEMPTS, "test_refused_sign_ups_count_at_their_address"),
}


@pytest.fixture
def world(admin: Any, make_user: Any, make_post: Any, settings: Any) -> World:
    settings.SERVICE_KEYS = service_keys.read([KEY])
    return World(admin, make_user, make_post)


@pytest.mark.once
def test_every_row_is_tried() -> None:
    assert TABLE.keys() == HOW.keys() | ELSEWHERE.keys()
    for path, name in ELSEWHERE.values():
        assert f"def {name}(" in Path(configured.BASE_DIR, path).read_text(), f"{path}::{name}"


def an_hour_passes(monkeypatch: pytest.MonkeyPatch, row: Budget) -> None:
    """Let tokens flow back for an hour: by the database's clock, or in all buckets in Redis."""
    if row.store is Store.DATABASE:
        now = db.now_ms
        monkeypatch.setattr(db, "now_ms", lambda: now() + HOUR * 1000)
        return

    def move(connection: Any) -> None:
        for key in connection.scan_iter(f"rl:{row.name}:*"):
            last = float(connection.hget(key, "last"))
            connection.hset(key, "last", f"{last - HOUR:.6f}")

    redis.call(move)


@pytest.mark.parametrize("name", HOW)
def test_every_row_refuses_until_tokens_flow_back_and_zero_lifts_it(
    name: str, world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, send, now = TABLE[name], lambda: HOW[name](world), db.now_ms()
    monkeypatch.setattr(db, "now_ms", lambda: now)  # no token flows back meanwhile
    settings.BUDGETS = {name: Rate(2, 2)}
    assert 429 not in {send().status_code for _ in range(2)}
    answer = send()
    assert answer.status_code == 429
    assert 1700 < int(answer["Retry-After"]) <= 1800
    if answer["Content-Type"] == "application/json":
        assert answer.json()["code"] == 11
    else:
        assert "Too many requests. Please wait" in answer.content.decode()
    an_hour_passes(monkeypatch, row)
    assert [send().status_code == 429 for _ in range(3)] == [False, False, True]
    settings.BUDGETS = {name: None}
    assert 429 not in {send().status_code for _ in range(4)}


@pytest.mark.once
@pytest.mark.parametrize("name", HOW)
def test_without_redis_budgets_of_the_database_are_enforced(
    name: str, world: World, settings: Any, dead_redis: Any
) -> None:
    settings.BUDGETS = {name: Rate(2, 2)}
    with dead_redis():
        refused = [HOW[name](world).status_code == 429 for _ in range(3)]
    assert refused == [False, False, TABLE[name].store is Store.DATABASE]
