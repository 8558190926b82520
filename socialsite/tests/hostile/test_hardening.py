"""Things that no feature does and no response contains: docs/security.md without another test."""

import ast
import importlib.util
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.http import HttpResponse
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from accounts import tokens
from accounts.request_auth import cookies
from accounts.sign_in import known_devices
from accounts.tests.browsers import browser_of
from feeds.models import Post
from socialsite import settings as site_settings
from socialsite.tests.support.forms import csrf_token

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Make = Callable[..., Any]
ROOT = Path(settings.BASE_DIR)
APPS = ("accounts", "feeds", "interactions", "relations", "socialsite")
# Every kind of response: page, form, API, error, file, machine.
ADDRESSES = (
    *("/", "/login", "/@nobody9", "/nothing", "/admin/login/", "/media/nothing.webp"),
    *("/api/v1/feed", "/api/v1/feed/recommended", "/api/nothing", "/api/docs/", "/api/schema/"),
    *("/healthz", "/readyz", "/metrics", "/.well-known/jwks.json", "/static/css/site.css"),
)
# They create objects, run programs, read XML, or contact other machines.
FORBIDDEN = {
    *("pickle", "marshal", "shelve", "dill", "yaml", "xml", "lxml", "ctypes", "cffi"),
    *("subprocess", "pty", "ldap", "ldap3"),
    *("requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client", "ftplib"),
    "httpcore",
    "django.core.cache",  # pickles its values; `socialsite.core.redis` does not
}
# `malloc_trim` of the C library, which gets no external input; the guarded way to other machines;
# ffmpeg, with limits and a list of arguments; `adjtimex`, which reads the state of the clock; the
# operator's check of SITE_URL, which requests no other address.
ALLOWED = {
    ("socialsite/core/runtime/memory.py", "ctypes"),
    ("socialsite/core/client/outgoing.py", "httpcore"),
    ("socialsite/core/media/videos/sandbox.py", "subprocess"),
    ("socialsite/doctor/checks/machine.py", "ctypes"),
    ("socialsite/doctor/checks/tls.py", "http.client"),
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "from_string"}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of the site without its tests."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "tests" not in path.parts:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def test_no_code_unpickles_runs_programs_or_connects_to_other_machines() -> None:
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if any(name == bad or name.startswith(f"{bad}.") for bad in FORBIDDEN):
                    found.append((path, name))
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                owner = getattr(getattr(node.func, "value", None), "id", "")
                if called in FORBIDDEN_CALLS and owner != "re":
                    found.append((path, called))
    assert set(found) == ALLOWED


def test_the_document_names_every_place_that_sends_requests_to_others() -> None:
    client = "socialsite/core/client/"
    sends = {("outgoing", "fetch"), ("outgoing", "check"), ("web_push", "send")}
    found = {f"{client}outgoing.py"}
    for path, tree in sources():
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        called = {
            (getattr(func.value, "id", ""), func.attr)
            for func in calls
            if isinstance(func, ast.Attribute)
        }
        if called & sends and not path.startswith(client):
            found.add(path)
    [paragraph] = re.findall(
        r"^The site itself sends requests .*?\n\n",
        (ROOT / "docs" / "security.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    assert set(re.findall(r"`([\w/]+\.py)`", paragraph)) == found


def test_scripts_neither_evaluate_texts_nor_write_markup_nor_store_secrets() -> None:
    bad = r"\beval\(|new Function|(inner|outer)HTML\s*\+?=|document\.write|insertAdjacentHTML"
    stored = r"(?:torage\.setItem|\b(?:local|session)\.write)\((\"\w+\"|\w+)"
    kept = set()
    for path in (ROOT / "static" / "js").rglob("*.js"):
        text = path.read_text()
        assert re.findall(bad, text) == [], path.name
        assert "document.cookie" not in text, path.name
        kept |= set(re.findall(stored, text))
    # The theme, whether keys are on, the sign-out reason, texts that are not accepted yet, the one
    # on its way, those that other tabs must not send again, deletions that wait: no more.
    assert kept == {'"theme"', '"keys"', '"notice"', "keyOf", "SENDING", "SENT", "key"}


def test_pages_load_scripts_and_styles_from_this_site_alone() -> None:
    tags = r"<(?:script|link|iframe|object|embed)\b[^>]*?(?:src|href|data)=\"([^\"]*)\""
    for path in (ROOT / "templates").rglob("*.html"):
        for address in re.findall(tags, path.read_text()):
            assert address.startswith(("{{", "/")), (path.name, address)
            assert not address.startswith("//"), (path.name, address)


def test_password_managers_and_pasting_work_in_every_field_of_a_password() -> None:
    fields = []
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        assert "onpaste" not in text
        fields += re.findall(r"ui\.field\([^)]*type=\"password\"[^)]*\)", text)
        if path.name != "_ui.html":
            has_password = 'type="password"' in text
            assert has_password == ("js/passwords.js" in text), path.name
            assert not re.search(r"<input[^>]*type=\"password\"", text), path.name
    assert len(fields) >= 6
    for field in fields:
        assert re.search(r"autocomplete=\"(current|new)-password\"", field), field
    for path in (ROOT / "static" / "js").rglob("*.js"):
        if path.name != "pictures.js":  # accepts pasted pictures
            assert not re.search(r"[\"'](paste|copy)[\"']", path.read_text()), path.name


def test_no_answer_opens_the_site_to_other_origins(make_user: Make) -> None:
    client = browser_of(make_user())
    asked = [("get", address, "null") for address in ADDRESSES]
    asked += [
        ("options", address, "https://evil.example")
        for address in ("/", "/api/v1/feed", "/api/v1/posts", "/login", "/nothing")
    ]
    for method, address, origin in asked:
        headers = getattr(client, method)(address, headers={"origin": origin}).headers
        shared = [name for name in headers if name.lower().startswith("access-control")]
        assert shared == [], (method, address)


@pytest.mark.parametrize("origin", ["null", "https://evil.example", "http://testserver.evil"])
def test_a_right_csrf_token_from_another_origin_writes_nothing(
    make_user: Make, origin: str
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser_of(make_user()).cookies
    page = strict.get("/").content.decode()
    form = {"kind": "micro", "content": "hello", "csrfmiddlewaretoken": csrf_token(page)}
    assert strict.post("/posts", form, headers={"origin": origin}).status_code == 403
    assert strict.post("/posts", form).status_code in (302, 303)
    assert Post.objects.count() == 1


def test_a_value_counts_only_where_it_belongs_and_once(make_user: Make, api_for: Make) -> None:
    api = api_for(make_user())
    wanted = {"kind": "micro", "content": "of the body"}
    in_query = api.post("/api/v1/posts?kind=micro&content=of+the+query", {}, format="json")
    assert in_query.status_code == 400
    both = api.post("/api/v1/posts?content=of+the+query", wanted, format="json")
    assert both.json()["content"] == "of the body"
    body = b'{"kind": "micro", "content": "first", "content": "last"}'
    twice = api.generic("POST", "/api/v1/posts", body, content_type="application/json")
    assert twice.json()["content"] == "last"
    assert len(api.get("/api/v1/feed?size=1&size=2").json()["items"]) == 2


@pytest.mark.parametrize(
    "path",
    [
        *("/static/", "/static/css/", "/static/css", "/media/", "/media", "/media/ab/"),
        *("/.git/HEAD", "/.env", "/.DS_Store", "/static/.DS_Store", "/media/.hidden"),
        *("/manage.py", "/data/keys.json", "/static/../keys.json", "/static/%2e%2e/keys.json"),
        *("/media/../keys.json", "/media/%2e%2e%2fkeys.json", "/static/css/site.css.bak"),
    ],
)
def test_there_are_no_listings_and_no_files_but_those_meant_to_be_served(path: str) -> None:
    assert Client().get(path).status_code in (400, 404)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "DEBUG"])
def test_unknown_methods_do_nothing(make_user: Make, make_post: Make, method: str) -> None:
    member = make_user()
    client, post = browser_of(member), make_post(member)
    for path in ("/posts", f"/posts/{post.pk}/like", f"/api/v1/posts/{post.pk}", "/login"):
        assert client.generic(method, path).status_code in (403, 405), path
    assert Post.objects.count() == 1


def test_every_answer_names_its_type_and_charset_and_no_version(make_user: Make) -> None:
    client = browser_of(make_user())
    for address in ADDRESSES:
        answer = client.get(address)
        kind = answer.headers["Content-Type"]
        if kind.startswith(("text/", "application/xml")):
            assert "charset=utf-8" in kind.lower().replace('"', ""), address
        assert "X-Powered-By" not in answer.headers
        assert not re.search(r"\d", answer.headers.get("Server", "")), address
        assert answer.headers["X-Content-Type-Options"] == "nosniff", address
        assert answer.headers["Referrer-Policy"] == "same-origin", address
        for sensor in ("camera=()", "geolocation=()", "microphone=()"):
            assert sensor in answer.headers["Permissions-Policy"], address


def test_no_secret_is_expected_in_an_address() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    names = {
        parameter["name"]
        for item in document["paths"].values()
        for operation in item.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] in ("query", "path")
    }
    secret = {"password", "old_password", "new_password", "otp", "token", "refresh", "access"}
    assert names
    assert not names & secret


def test_hashes_of_passwords_are_argon2id_with_a_salt_of_their_own(real_hasher: None) -> None:
    assert [
        f"{Argon2PasswordHasher.__module__}.{Argon2PasswordHasher.__name__}"
    ] == site_settings.PASSWORD_HASHERS
    first, second = make_password("right.pass1"), make_password("right.pass1")
    decoded = Argon2PasswordHasher().decode(first)
    assert (decoded["algorithm"], decoded["variety"]) == ("argon2", "argon2id")
    assert decoded["memory_cost"] >= 15 * 1024  # KiB
    assert decoded["time_cost"] >= 2
    assert len(decoded["salt"]) * 6 >= 128  # bits: base64
    assert first != second


def test_tokens_carry_128_random_bits() -> None:
    marks = {tokens.new_token_id(1).jti for _ in range(100)}
    assert len(marks) == 100
    assert all(re.fullmatch(r"[0-9a-f]{32}", mark) for mark in marks)


def test_request_data_cannot_forge_log_lines(
    caplog: pytest.LogCaptureFixture, make_user: Make
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser_of(make_user()).cookies
    with caplog.at_level(logging.INFO):
        strict.post("/posts/1%0a2026-01-01 INFO forged: line/like", {"x": "y"})
        strict.get("/nothing%0d%0aINFO forged")
    assert caplog.records
    for record in caplog.records:
        assert "\n" not in record.getMessage()
        assert "\r" not in record.getMessage()


def test_over_https_cookies_are_bound_to_the_host_and_secure(settings: Any) -> None:
    settings.HTTPS = True
    names = []
    for module in (cookies, known_devices):
        spec = importlib.util.spec_from_file_location("of_https", str(module.__file__))
        assert spec
        assert spec.loader
        copy = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(copy)
        names += [getattr(copy, name, "") for name in ("ACCESS", "REFRESH", "DEVICE", "COOKIE")]
    # The last one has the path /login, which the prefix __Host- excludes.
    wanted = ["__Host-access", "__Host-refresh", "__Host-device", "__Secure-known"]
    assert [name for name in names if name] == wanted


def test_over_https_everything_is_secure_and_the_demo_is_off(tmp_path: Path) -> None:
    wanted = {
        "CSRF_COOKIE_NAME": "__Host-csrf",
        "CSRF_COOKIE_SECURE": True,
        "SESSION_COOKIE_SECURE": True,
        "LANGUAGE_COOKIE_SECURE": True,
        "DEBUG": False,
        "SECURE_HSTS_SECONDS": 63_072_000,
        "SECURE_HSTS_INCLUDE_SUBDOMAINS": True,
    }
    code = (
        "import json, socialsite.settings as found;"
        f"print(json.dumps([found.ENV.DEMO, *(getattr(found, name) for name in {list(wanted)})]))"
    )
    plain = {key: value for key, value in os.environ.items() if not key.endswith("_URL")}
    env = {**plain, "DATA_DIR": str(tmp_path), "SITE_URL": "https://social.example"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [False, *wanted.values()]


def test_an_unexpected_error_gets_a_general_text_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, make_user: Make, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **kwargs: object) -> HttpResponse:
        raise RuntimeError("the secret inside")

    client = browser_of(make_user())
    client.raise_request_exception = False
    monkeypatch.setattr("relations.queries.search_people", broken)
    for path in ("/search?q=someone", "/api/v1/users?q=someone"):
        answer = client.get(path)
        assert answer.status_code == 500, path
        assert b"the secret inside" not in answer.content
        assert b"Traceback" not in answer.content
    assert "the secret inside" in caplog.text
