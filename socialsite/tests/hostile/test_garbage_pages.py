"""Invalid input to every page and the whole admin: a proper response, and no writes.

The values were collected by hand: each once caused a 500 somewhere, or might elsewhere.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import transaction
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import Failures, Role, User
from accounts.tests.browsers import browser_of
from socialsite.core.admin import GuardedAdmin
from socialsite.tests.support.routes import IN_ADMIN, routes

pytestmark = pytest.mark.django_db

METHODS = ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW", "get")
HUGE = "9" * 25
BAD_PARTS = [
    *("0", "-1", HUGE, "x" * 300, "a%00b", "%FF", "%ED%A0%80", "%F0%9F%90%B1", "%0d%0aX:1"),
    *("..%2F..%2Fetc", "http:%2F%2F%5B", "[", "_5F_zz", "%E2%80%AE", "%D9%A1", "9" * 8000),
]
BAD_VALUES = [
    *("", "%00", "%FF", "%ED%A0%80", "[", "http://[", "9" * 5000, "-1", "%0d%0aX:1", "x" * 3000),
    "A" * 40,
]
NAMES = ("cursor", "size", "max_time", "q", "next", "sort", "username", "reply", "ids", "%00")
HEADERS: dict[str, list[str]] = {
    "Content-Type": [
        *("x", "/", ";;;", "multipart/form-data", "multipart/form-data; boundary=\xff"),
        *("multipart/form-data; boundary=" + "x" * 300, "text/html; charset=zz"),
        "application/x-www-form-urlencoded; charset=utf-16",
    ],
    "Range": ["bytes=x", "bytes=-", f"bytes={HUGE}-", "bytes=" + "0-1," * 500],
    "If-Modified-Since": ["x", "Sat, 99 Foo 99999 99:99:99 GMT", "Sat, 29 Oct 0000 19:43:31 GMT"],
    "If-None-Match": ["x", "W/", '"' * 500],
    "Accept-Language": ["x" * 5000, "zz;q=x", "en;q=" + "9" * 500, "zh-" + "a-" * 300, "../../x"],
    "Accept": ["x", "*/*;q=x", "application/json; version=x"],
    "Cookie": [
        *("a" * 9000, "django_language=../../x", "csrf=x", "sessionid=x:y:z", "messages=x:y"),
        *("=;=;=", "access=a.b.c; refresh=d", "access=\xe9", "device=x"),
    ],
    "Authorization": ["Bearer", "Bearer \xe9", "Bearer a b", "Basic x", "x" * 5000],
    "Referer": ["http://["],
    "Origin": ["null", "http://["],
    "HX-Request": ["true"],
    "HX-Target": ["\xe9"],
    "HX-Current-URL": ["http://["],
    "X-Forwarded-For": ["x" * 300],
    "User-Agent": ["\xe9" * 500],
    "Idempotency-Key": ["\xe9"],
}
PART = re.compile(r"<(?:\w+:)?\w+>|\(\?P<\w+>.*?\)")
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"
BAD_FORMS: list[tuple[bytes, str]] = [
    (b"--x", MULTIPART),
    (b"\xff\xfe=\x80&%ff=%ff&%", FORM),
    (b"&".join([b"a=1"] * 500), FORM),
    (b"--x\r\nContent-Disposition: form-data\r\n\r\nz\r\n--x--\r\n", MULTIPART),
    (
        b'--x\r\nContent-Disposition: form-data; name="images"; filename="a\x00.png"\r\n'
        b"Content-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n",
        MULTIPART,
    ),
    (
        b"--x\r\nContent-Disposition: form-data; name*=hex''zz; filename*=zz''%ff\r\n\r\n"
        b"z\r\n--x--\r\n",
        MULTIPART,
    ),
]
# Values that no form sends for its fields.
FIELDS = (
    *("follow", "block", "liked", "bookmarked", "pinned", "content", "title", "kind", "visibility"),
    *("next", "until", "ids", "parent", "status", "action", "back", "select_across", "index"),
    *("_selected_action", "author", "ticket", "otp", "password", "username", "nickname", "email"),
    *("client", "words", "reason", "language", "post", "_popup", "_to_field", "_saveasnew"),
)
FIELD_VALUES = ["a\x00b", "x" * 20_000, HUGE, "//[", "1"]


class Fuzz:
    """Sends requests as an admin, and collects wrong responses."""

    def __init__(self, boss: User) -> None:
        browser = browser_of(boss)
        self.cookie = "; ".join(f"{key}={morsel.value}" for key, morsel in browser.cookies.items())
        self.client = Client(raise_request_exception=False)
        self.sent = 0
        self.wrong: list[str] = []

    def send(
        self, method: str, path: str, body: bytes = b"", kind: str = FORM, **headers: Any
    ) -> Any:
        self.sent += 1
        self.client.cookies.clear()
        given: dict[str, Any] = {"HTTP_COOKIE": self.cookie, **headers}
        answer = self.client.generic(method, path, body, content_type=kind, **given)
        if answer.status_code >= 500:
            self.wrong.append(f"{answer.status_code} {method} {path[:200]} {body[:60]!r} {headers}")
        return answer


@pytest.fixture
def fuzz(make_user: Any) -> Fuzz:
    boss = make_user()
    accounts_actions.promote(boss, Role.MEMBER | Role.MODERATOR | Role.ADMIN)
    return Fuzz(boss)


def addresses() -> Iterator[str]:
    """Yield every address outside the API (`test_garbage`), with its parameters."""
    for route, _view in routes():
        if not route.startswith("api/v1/"):
            yield "/" + route.replace("^", "").replace("$", "")


def filled(address: str, part: str) -> str:
    return PART.sub(lambda _match: part, address)


PAGES = [address for address in addresses() if not address.startswith(f"/{IN_ADMIN}")]
ADMIN = [address for address in addresses() if address.startswith(f"/{IN_ADMIN}")]
# One model stands for all others where the admin's own code answers.
ONE_MODEL = [address for address in ADMIN if "/accounts/user/" in address]


def rows() -> dict[str, int]:
    models = [model for model in apps.get_models() if model._meta.managed]
    return {m._meta.label: m._default_manager.count() for m in models if m is not Failures}


@pytest.mark.once
def test_methods_and_broken_forms(fuzz: Fuzz) -> None:
    before = rows()
    for address in (*PAGES, *ONE_MODEL):
        path = filled(address, "1")
        with transaction.atomic():
            for method in METHODS:
                fuzz.send(method, path)
            for body, kind in BAD_FORMS:
                fuzz.send("POST", path, body, kind)
            transaction.set_rollback(True)
    assert not fuzz.wrong, "\n".join(fuzz.wrong)
    assert rows() == before


def test_parts_of_addresses(fuzz: Fuzz) -> None:
    for address in (*PAGES, *ONE_MODEL):
        if PART.search(address):
            for part in BAD_PARTS:
                fuzz.send("GET", filled(address, part))
    for part in BAD_PARTS:
        for before in ("/", "/@", "/static/", "/media/", "/api/", "/admin/"):
            fuzz.send("GET", before + part)
    assert not fuzz.wrong, "\n".join(fuzz.wrong)


def test_parameters_and_fields_of_pages(fuzz: Fuzz) -> None:
    values = itertools.cycle(BAD_VALUES)  # one value more than NAMES: each page gets others
    for address, name in itertools.product(PAGES, NAMES):
        if address != "/api/schema/":  # takes no parameters, and is slow
            fuzz.send("GET", f"{filled(address, '1')}?{name}={next(values)}")
    with transaction.atomic():
        for address, value in itertools.product((*PAGES, *ONE_MODEL), FIELD_VALUES):
            fuzz.send(
                "POST", filled(address, "1"), urlencode(dict.fromkeys(FIELDS, value)).encode()
            )
        transaction.set_rollback(True)
    assert not fuzz.wrong, "\n".join(fuzz.wrong)


@pytest.mark.once
def test_headers(fuzz: Fuzz) -> None:
    some = ("/", "/login", "/posts", "/settings/blocked", "/admin/", "/media/x", "/static/x")
    for address in (*some, "/api/v1/posts", "/api/docs/", "/i18n/setlang/"):
        for name, values in HEADERS.items():
            key = name.upper().replace("-", "_")
            key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
            for value, method in itertools.product(values, ("GET", "POST")):
                header: dict[str, Any] = {key: value}
                fuzz.send(method, address, **header)
    assert not fuzz.wrong, "\n".join(fuzz.wrong)


# --- the admin ------------------------------------------------------------------------------------
# Parameters that Django reads the same way for every model, and those that depend on its columns.
OF_ALL = [
    *("p=99999999999", "p=-1", "p=abc", f"p={'9' * 5000}", "p=%00", "e=1", "all=", "_facets=x"),
    *("o=99", "o=a.b", "o=1.-2.3", "o=%00", f"o={'9' * 5000}", "_popup=x&_to_field="),
    *("_changelist_filters=%00", "_to_field=%00", "q=%FF", "nosuch=1", "__=1", "%00=%00"),
]
LOOKUPS = [
    *("q=%00", "q=%22", f"q={HUGE}"),
    *("pk__in=1,x", f"id__in={HUGE}", f"id={HUGE}", "id__range=1", "id__isnull=x"),
    *("created_at__year=99999999999", "created_at__gte=abc", "username__regex=(", "id__id=1"),
    *("password__startswith=a", "kind=%00", f"kind__exact={HUGE}", "dead__exact=x", "state=%00"),
    *("kind__isnull=x", "type=x", "act=%00", "is_deleted__exact=%00"),
]
OBJECTS = ["?_to_field=", "?_to_field=%00", "?_to_field=password", "?_popup=1&_to_field=id"]
ACTIONS = [
    {"action": action, "_selected_action": chosen, **more}
    for action in ("ban", "delete_posts", "dismiss", "retry", "delete_selected", "\x00", "")
    for chosen, more in (
        ("x", {}),
        (HUGE, {"confirmed": "1", "back": HUGE}),
        ("1", {"index": "x"}),
        ("0", {"index": "99", "select_across": "1"}),
        ("\x00", {"index": "0", "_popup": "1"}),
    )
]


def test_every_model_of_the_admin_is_guarded() -> None:
    for model, model_admin in admin.site._registry.items():
        assert isinstance(model_admin, GuardedAdmin), model


def test_lookups_and_acts_of_the_admin(fuzz: Fuzz, make_post: Any, make_user: Any) -> None:
    make_post(make_user())
    for model in admin.site._registry:
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for query in (*LOOKUPS, *(OF_ALL if model is User else ())):
            fuzz.send("GET", f"{path}?{query}")
        row = model._default_manager.order_by("pk").last()
        pk = row.pk if row else 1
        for end in ("change/", "delete/", "history/"):
            fuzz.send("GET", f"{path}{HUGE}/{end}")
            for asked in OBJECTS:
                fuzz.send("GET", f"{path}{pk}/{end}{asked}")
    for app, name in (("accounts", "user"), ("feeds", "post"), ("interactions", "case")):
        for form in ACTIONS:
            fuzz.send("POST", f"/admin/{app}/{name}/", urlencode(form).encode())
    for query in ("viewer=%00&post=x", f"viewer=x&post={HUGE}", "viewer=-1&post=-1"):
        fuzz.send("GET", f"/admin/feeds/post/explain/?{query}")
    for form in ({"author": HUGE}, {"author": "\x00"}, {"author": "x"}, {"_saveasnew": "1"}):
        for end in ("add/", "1/change/"):
            path = f"/admin/feeds/recommendedauthor/{end}"
            fuzz.send("POST", path, urlencode(form).encode())
    assert not fuzz.wrong, "\n".join(fuzz.wrong)


@pytest.mark.once
@pytest.mark.parametrize(
    "query",
    ["password__startswith=md5", "email__startswith=a", "email__isnull=0", "username__regex=a"],
)
def test_staff_filter_by_no_column_that_no_filter_of_the_list_names(
    query: str, make_user: Any
) -> None:
    """Such responses would let a moderator spell out a hash, or an address."""
    staff = make_user("thestaff1")
    accounts_actions.promote(staff, Role.MEMBER | Role.MODERATOR)
    browser = browser_of(staff)
    assert browser.get(f"/admin/accounts/user/?{query}").status_code == 400
    for known in ("state=open", "q=thestaff1", "o=1", "p=1"):
        found = browser.get(f"/admin/accounts/user/?{known}")
        assert found.status_code == 200
        assert "thestaff1" in found.content.decode()
