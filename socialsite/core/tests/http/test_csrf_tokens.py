"""Tokens of pages: Django accepts them, each has a mask of its own, all characters occur."""

import pytest
from django.middleware import csrf
from django.middleware.csrf import _unmask_cipher_token  # type: ignore[attr-defined]
from django.test import RequestFactory

from socialsite.core.http import csrf_tokens

pytestmark = pytest.mark.once


def test_a_token_is_the_secret_under_a_mask_as_django_reads_it(rf: RequestFactory) -> None:
    request = rf.get("/")
    secret = csrf._get_new_csrf_string()
    request.META["CSRF_COOKIE"] = secret
    made = {csrf_tokens.token_of(request) for _ in range(300)}
    assert len(made) == 300
    for token in made:
        assert len(token) == csrf.CSRF_TOKEN_LENGTH
        assert _unmask_cipher_token(token) == secret
    assert request.META["CSRF_COOKIE_NEEDS_UPDATE"]


def test_masks_have_each_character_equally_often() -> None:
    found = b"".join(csrf_tokens._mask() for _ in range(2_000))
    counts = [found.count(bytes([one])) for one in csrf_tokens._CHARACTERS]
    expected = len(found) / len(counts)
    assert sum(counts) == len(found)
    assert all(0.8 * expected < count < 1.2 * expected for count in counts)


def test_a_browser_without_the_cookie_gets_a_new_secret(rf: RequestFactory) -> None:
    request = rf.get("/")
    token = csrf_tokens.token_of(request)
    assert _unmask_cipher_token(token) == request.META["CSRF_COOKIE"]
