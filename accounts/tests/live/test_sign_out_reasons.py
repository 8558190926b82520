"""Sign-out reasons: read from the tables and shown on the next page."""

import jwt
import pytest
from django.test import Client

from accounts import actions, sign_out_reasons, tokens
from accounts.models import User
from accounts.sign_out_reasons import Ending
from accounts.tests.live.talk import over

pytestmark = pytest.mark.django_db

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0 Safari/537.36"
PASSWORD, OTHER = "right.pass1", "left.pass2"


def browser_with(pair: tokens.TokenPair) -> Client:
    client = Client()
    client.cookies["access"], client.cookies["refresh"] = pair
    return client


def cookies_after(response) -> list[str] | None:
    """Return the cookies that a response sets; None when it sets none."""
    if "access" not in response.cookies:
        return None
    return [response.cookies[name].value for name in ("access", "refresh")]


def again(user: User, client: str = "chrome") -> None:
    actions.sign_in(user, client, WINDOWS)


ACTS = [
    (
        again,
        Ending("login", "Chrome, Windows"),
        "You signed in on another Chrome (Chrome, Windows).",
    ),
    (lambda user: actions.log_out(user, "chrome"), Ending("logout"), "You logged out."),
    (
        lambda user: actions.kick(user, "chrome", by="Android"),
        Ending("kicked", "Android"),
        "You were signed out by another device of yours: Android.",
    ),
    (
        lambda user: actions.set_password(user, OTHER),
        Ending("password"),
        "Your password was changed. Please log in with the new one.",
    ),
    (
        actions.force_offline,
        Ending("forced"),
        "An administrator signed you out on all devices.",
    ),
    (actions.ban, Ending("ban"), "This account is banned."),
]


@pytest.mark.parametrize(("act", "ending", "words"), ACTS)
def test_a_sign_in_that_ended_is_explained_on_the_next_page_once(act, ending, words, alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    assert sign_out_reasons.of(tokens.decode_refresh(pair.refresh)) is None
    act(alice)
    assert sign_out_reasons.of(tokens.decode_refresh(pair.refresh)) == ending
    for path, login in (("/search", False), ("/login", True)):
        client = browser_with(pair)
        response = client.get(path)
        page = response.content.decode()
        assert page.count(words) == 1
        assert ('<p class="notice" id="notice" role="alert">' in page) == login
        assert cookies_after(response) == ["", ""]
        assert words not in client.get(path).content.decode()


def test_token_reuse_is_explained_to_both(alice) -> None:
    old = actions.sign_in(alice, "chrome")
    _user, pair = actions.refresh(old.refresh)
    _user, pair = actions.refresh(pair.refresh)
    _user, pair = actions.refresh(pair.refresh)
    assert "used in two places" in browser_with(old).get("/search").content.decode()
    assert "used in two places" in browser_with(pair).get("/search").content.decode()


def test_an_expired_session_is_explained(alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    client = browser_with(tokens.TokenPair(over(pair.access), over(pair.refresh)))
    response = client.get("/search")
    assert "Your sign-in has expired." in response.content.decode()
    assert cookies_after(response) == ["", ""]


def test_foreign_cookies_get_no_explanation(alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    actions.ban(alice)
    forged = jwt.encode(
        jwt.decode(pair.refresh, options={"verify_signature": False}),
        "0" * 48,
        "HS256",
        jwt.get_unverified_header(pair.refresh),
    )
    for refresh in (forged, "garbage", pair.access):
        response = browser_with(tokens.TokenPair("garbage", refresh)).get("/search")
        assert 'class="notice"' not in response.content.decode()
        assert cookies_after(response) == ["", ""]


def test_an_unknown_reason_is_explained_in_general_words(alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    actions.kick(alice, "chrome", by="Android")
    again(alice)
    assert sign_out_reasons.of(tokens.decode_refresh(pair.refresh)) == Ending("kicked", "Android")
    again(alice)
    assert sign_out_reasons.of(tokens.decode_refresh(pair.refresh)) == Ending("revoked")
    assert "You were signed out of this device." in browser_with(pair).get("/").content.decode()
    principal = tokens.Principal(alice.pk + 1, "chrome", 1, 1, "x", 0)
    assert sign_out_reasons.of(principal) == Ending("revoked")
    words = sign_out_reasons.words_of(Ending("of later times"), "chrome")
    assert "signed out of this device" in words.plain


@pytest.mark.parametrize("act", [lambda user: actions.promote(user, 3), lambda user: None])
def test_a_sign_in_with_only_its_access_token_revoked_continues(act, alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    act(alice)
    assert sign_out_reasons.of(tokens.decode_access(pair.access)) is None


def test_an_old_copy_of_a_renewed_sign_in_gets_no_explanation_and_its_cookies_stay(alice) -> None:
    """Another tab may be faster than the response that brings this browser the new pair."""
    pair = actions.sign_in(alice, "chrome")
    actions.change_password(alice, "chrome", PASSWORD, OTHER)
    response = browser_with(pair).get("/search")
    assert cookies_after(response) is None
    page = response.content.decode()
    assert 'class="notice"' not in page
    assert 'data-testid="logout"' not in page
    again(alice)
    assert "another" not in browser_with(pair).get("/search?tab=people").content.decode()
    assert "Your password was changed." in browser_with(pair).get("/search").content.decode()


def test_background_requests_do_not_consume_the_explanation(alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    again(alice)
    client = browser_with(pair)
    assert cookies_after(client.head("/search")) is None
    assert cookies_after(client.get("/search", headers={"HX-Request": "true"})) is None
    response = client.get("/settings/blocked")
    assert response.status_code == 302
    assert cookies_after(response) is None
    assert "You signed in on another Chrome" in client.get(response["Location"]).content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_explanation_is_one_query_and_nobody_else_pays_it(
    alice, django_assert_num_queries
) -> None:
    pair = actions.sign_in(alice, "chrome")
    client = browser_with(pair)
    client.get("/login")
    Client().get("/login")
    with django_assert_num_queries(0):
        client.get("/login")
        Client().get("/login")
    actions.log_out(alice, "chrome")
    principal = tokens.decode_refresh(pair.refresh)
    with django_assert_num_queries(1):
        sign_out_reasons.of(principal)


@pytest.mark.parametrize(
    ("client", "by", "words"),
    [
        ("edge", "Edge, Windows", "You signed in on another Edge (Edge, Windows)."),
        ("edge", "", "You signed in on another Edge."),
        ("other", "Another device, Linux", "You signed in on another device."),
        ("chrome:3f2a", "Chrome, Windows", "You signed in on another Chrome (Chrome, Windows)."),
        ("unknown", "x", "You signed in on another device."),
    ],
)
def test_another_sign_in_is_named_by_the_kind_of_the_device(client, by, words) -> None:
    assert sign_out_reasons.words_of(Ending("login", by), client).plain == words


def test_a_page_offers_help_to_those_who_did_not_end_the_sign_in(alice) -> None:
    """A new password after a log-in, or by mail if theirs is no longer valid."""
    pair = actions.sign_in(alice, "chrome")
    again(alice)
    page = browser_with(pair).get("/search").content.decode()
    assert 'href="/login?next=/settings/password"' in page
    pair = actions.sign_in(alice, "chrome")
    actions.set_password(alice, OTHER)
    page = browser_with(pair).get("/search").content.decode()
    assert "Set a new password by e-mail" in page
    pair = actions.sign_in(alice, "chrome")
    actions.log_out(alice, "chrome")
    assert "Was it not you" not in browser_with(pair).get("/search").content.decode()


def test_with_one_sign_in_per_device_another_one_can_only_be_its_own(settings) -> None:
    settings.CLIENT_POLICY = "device"
    words = sign_out_reasons.words_of(Ending("login", "Chrome, Windows"), "chrome:3f2a")
    assert words.plain == "You signed in again on this device."


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ['data-named="You signed in on another Chrome (%(by)s)."', ">You logged out.<"]),
        ("zh-CN", ['data-named="你在另一个 Chrome（%(by)s）上登录了。"', ">你已退出登录。<"]),
    ],
)
def test_a_page_brings_the_sentences_along_in_its_language(language, words, alice) -> None:
    client = browser_with(actions.sign_in(alice, "chrome"))
    page = client.get("/search", headers={"accept-language": language}).content.decode()
    for text in words:
        assert text in page
    reasons = (
        "login",
        "limit",
        "logout",
        "kicked",
        "password",
        "forced",
        "ban",
        "reuse",
        "revoked",
    )
    assert all(f'data-reason="{reason}"' in page for reason in reasons)
