"""`/.well-known/security.txt` names the contact for security problems, if the operator set one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

ADDRESS = "/.well-known/security.txt"


@pytest.mark.django_db
def test_the_contact_is_published_in_the_form_of_rfc_9116(settings: Any) -> None:
    settings.SECURITY_CONTACT = "mailto:security@social.example"
    settings.SITE_URL = "https://social.example"
    answer = Client().get(ADDRESS)
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert not answer.cookies
    fields = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
    assert fields["Contact"] == "mailto:security@social.example"
    assert fields["Canonical"] == f"https://social.example{ADDRESS}"
    left = datetime.fromisoformat(fields["Expires"]) - datetime.now(UTC)
    assert timedelta(days=1) < left < timedelta(days=365)
    assert Client().post(ADDRESS).status_code == 405


@pytest.mark.django_db
def test_without_a_contact_there_is_no_such_address(settings: Any) -> None:
    settings.SECURITY_CONTACT = ""
    assert Client().get(ADDRESS).status_code == 404
