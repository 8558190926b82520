"""The API of passkeys as tests call it."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import SignIn, User
from accounts.tests.sign_in.authenticator import App
from accounts.tests.sign_in.passkey_device import Device

PASSWORD = "right.pass1"
API = "/api/v1/auth/passkeys"


def options_to_add(client: APIClient, **body: str) -> dict[str, Any]:
    return client.post(f"{API}/options", body, format="json").json()["publicKey"]


def add(client: APIClient, device: Device, **changes: Any) -> Any:
    credential = device.create(options_to_add(client), **changes)
    return client.post(API, {"name": "Phone", "credential": credential}, format="json")


def options(client: Any) -> dict[str, Any]:
    answer = client.post(f"{API}/login-options", {}, format="json")
    return answer.json()["publicKey"]


def send(client: APIClient, credential: Any, **more: Any) -> Any:
    return client.post(f"{API}/login", {"credential": credential} | more, format="json")


def log_in(client: APIClient, device: Device, **changes: str) -> Any:
    return send(client, device.get(options(client), **changes))


def assert_refused(answer: Any) -> None:
    assert (answer.status_code, answer.json()["error"]) == (401, "PASSKEY_REFUSED")


def turn_on(user: User) -> App:
    actions.sign_in(user, "ios")
    app = App(actions.begin_two_factor(user, PASSWORD).secret)
    actions.confirm_two_factor(user, app.code(-1), "ios")
    return app


def make_stale(user: User) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    SignIn.objects.filter(user=user).update(proved_at=long_ago)
