"""Attempts to sign in from one address and another."""

from typing import Any

from django.test import RequestFactory

HOME, AWAY = "192.0.2.7", "198.51.100.9"


def request_from(address: str = HOME, **extra: Any) -> Any:
    return RequestFactory().post("/login", REMOTE_ADDR=address, **extra)
