"""Keys, proxies, origin and switches: a wrong environment is described."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory

from socialsite.core.http import ip_addresses
from socialsite.core.runtime.service_keys import Service
from socialsite.doctor.checks import configuration
from socialsite.doctor.findings import ERROR, OK, UNKNOWN, WARNING, Finding, worst

pytestmark = [pytest.mark.embedded]

STRONG = "kZ3vXo9TqLw5RbY8uJm2NcHs7GdPf4AeQ1xUiVtB"
OTHER = "Wq8RtYuIoPaSdFgHjKlZxCvBnM1234567890QwEr"


def texts(findings: Iterable[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


@pytest.fixture
def strong(settings: Any, tmp_path: Path) -> Any:
    """Good keys, given by the environment."""
    tmp_path.chmod(0o700)
    settings.DATA_DIR = tmp_path
    settings.SECRET_KEY, settings.METRICS_TOKEN = STRONG, OTHER
    settings.JWT_KEYS = [STRONG[::-1]]
    return settings


# --- keys ---------------------------------------------------------------------------------------
def test_good_keys_are_fine(strong: Any) -> None:
    assert worst(configuration.keys()) == OK


def test_keys_that_can_be_guessed_are_found(strong: Any) -> None:
    strong.SECRET_KEY, strong.METRICS_TOKEN = "a" * 60, "password1"
    assert "SECRET_KEY can be guessed" in texts(configuration.keys(), ERROR)
    assert "METRICS_TOKEN can be guessed" in texts(configuration.keys(), WARNING)


@pytest.mark.parametrize("which", ["secret", "token", "service"])
def test_a_metrics_token_that_is_another_key_is_an_error(strong: Any, which: str) -> None:
    strong.SERVICE_KEYS = [Service("shop", "Zz" + STRONG)]
    strong.METRICS_TOKEN = {
        "secret": strong.SECRET_KEY,
        "token": strong.JWT_KEYS[0],
        "service": strong.SERVICE_KEYS[0].key,
    }[which]
    assert "also another key" in texts(configuration.keys(), ERROR)


def test_keys_that_others_can_read_are_an_error(strong: Any) -> None:
    path = strong.DATA_DIR / "keys.json"
    path.write_text("{}")
    path.chmod(0o644)
    assert str(path) in texts(configuration.keys(), ERROR)
    path.chmod(0o600)
    assert worst(configuration.keys()) == OK


def test_a_directory_that_others_can_enter_is_an_error(strong: Any) -> None:
    strong.DATA_DIR.chmod(0o755)
    assert "enter or list" in texts(configuration.keys(), ERROR)
    strong.DATA_DIR.chmod(0o710)  # a web server in front
    assert worst(configuration.keys()) == OK


def test_generated_keys_are_a_warning_on_the_full_stack_only(strong: Any) -> None:
    path = strong.DATA_DIR / "keys.json"
    path.write_text(json.dumps({"SECRET_KEY": STRONG}))
    path.chmod(0o600)
    strong.EMBEDDED = False
    assert "in use: SECRET_KEY." in texts(configuration.keys(), WARNING)
    strong.EMBEDDED = True
    assert worst(configuration.keys()) == OK


def test_a_broken_file_of_keys_is_unknown(strong: Any) -> None:
    path = strong.DATA_DIR / "keys.json"
    path.write_text("{")
    path.chmod(0o600)
    assert str(path) in texts(configuration.keys(), UNKNOWN)


# --- proxies ------------------------------------------------------------------------------------
def test_a_proxy_that_a_request_showed_is_an_error(settings: Any, monkeypatch: Any) -> None:
    settings.TRUSTED_PROXIES, settings.HTTPS = 0, False
    monkeypatch.setattr(ip_addresses, "_warned", False)
    assert worst(configuration.proxies()) == OK
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR="1.2.3.4")
    ip_addresses.client_of(request)
    assert "A proxy at 192.0.2.7" in texts(configuration.proxies(), ERROR)
    settings.TRUSTED_PROXIES = 1
    assert worst(configuration.proxies()) == OK


def test_https_without_a_proxy_is_a_warning(settings: Any) -> None:
    settings.TRUSTED_PROXIES, settings.HTTPS = 0, True
    assert worst(configuration.proxies()) == WARNING


# --- origin -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Site.example", "https://site.example"),
        ("https://site.example:443", "https://site.example"),
        ("https://site.example/social", "https://site.example"),
        ("http://site.example:80", "http://site.example"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_written_as_browsers_do(url: str, origin: str, settings: Any) -> None:
    assert configuration.origin_of(url) == origin
    settings.SITE_URL, settings.ALLOWED_HOSTS = url, ["site.example", "[::1]"]
    settings.EMBEDDED = True
    found = texts(configuration.origin(), ERROR)
    assert (f"Browsers send the Origin {origin}" in found) == (url != origin)


def test_a_host_that_is_not_allowed_is_an_error(settings: Any) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://site.example", ["other.example"]
    assert "site.example of SITE_URL is not in ALLOWED_HOSTS" in texts(
        configuration.origin(), ERROR
    )
    settings.ALLOWED_HOSTS = ["*"]
    assert worst(configuration.origin()) == WARNING
    settings.ALLOWED_HOSTS = [".example"]
    assert worst(configuration.origin()) == OK


def test_a_public_site_on_a_loopback_address_is_a_warning(settings: Any) -> None:
    settings.EMBEDDED = False
    settings.SITE_URL, settings.ALLOWED_HOSTS = "http://127.0.0.1:8000", ["127.0.0.1"]
    assert worst(configuration.origin()) == WARNING


# --- switches -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["DEBUG", "DEMO", "BUDGETS", "FAILPOINT"])
def test_each_setting_for_trials_is_an_error(settings: Any, name: str) -> None:
    settings.HTTPS, settings.DEBUG, settings.FAILPOINT = True, False, ""
    settings.OUTGOING_LOOPBACK = False
    right = {"DEMO": False, "BUDGETS": True}
    settings.ENV = settings.ENV.model_copy(update=right)
    assert worst(configuration.switches()) == OK
    if name in right:
        settings.ENV = settings.ENV.model_copy(update={name: not right[name]})
    else:
        setattr(settings, name, "post:1" if name == "FAILPOINT" else True)
    assert texts(configuration.switches(), ERROR).startswith(name)


def test_links_to_this_machine_are_a_warning(settings: Any) -> None:
    settings.HTTPS, settings.OUTGOING_LOOPBACK = False, True
    assert worst(configuration.switches()) == WARNING
