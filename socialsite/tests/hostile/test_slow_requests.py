"""Many slow requests at once leave threads for the others in the embedded mode.

The test occupies the hashers and the decoder, so slow requests wait as long as it wants.
"""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.asgi import get_asgi_application
from PIL import Image

from accounts import actions as accounts_actions
from accounts.credentials import passwords
from socialsite.core.media import encoding
from socialsite.core.runtime import concurrency
from socialsite.tests.support.waiting import LIMIT

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]

JSON = "application/json"
AT_ONCE = 64


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Occupy all hashers and decoders until the event is set."""
    free = threading.Event()

    class Taken:
        def acquire(self, timeout: float) -> bool:
            return free.wait()  # it is always set in the end

        def release(self) -> None:
            pass

    monkeypatch.setattr(passwords, "_slots", Taken())
    monkeypatch.setattr(encoding, "_decoders", Taken())
    yield free
    free.set()


@pytest.fixture
def token(make_user: Any) -> str:
    """Sign a person in, before the hashers are occupied."""
    return accounts_actions.sign_in(make_user(), "other").access


def log_in(number: int) -> bytes:
    person = {"username": f"nobody{number}", "password": "wrong.pass1", "client": "other"}
    return json.dumps(person).encode()


def upload() -> tuple[bytes, str]:
    out = io.BytesIO()
    Image.new("RGB", (4, 3)).save(out, "PNG")
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    return head + out.getvalue() + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"


async def ask(
    application: Any, method: str, path: str, body: bytes = b"", kind: str = JSON, token: str = ""
) -> int:
    """Send a request as a server does and return the status of the response."""
    found: list[int] = []
    headers = {"host": "testserver", "content-type": kind, "content-length": str(len(body))}
    if token:
        headers["authorization"] = f"Bearer {token}"
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return parts.pop() if parts else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        found.extend([message["status"]] if "status" in message else [])

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": pairs}
    await application(scope | {"client": ("192.0.2.7", 1)}, receive, send)
    return found[0]


def test_64_log_ins_and_64_uploads_do_not_delay_a_page(token: str, busy: threading.Event) -> None:
    body, kind = upload()

    async def main() -> tuple[list[int], list[int], int]:
        places = concurrency.Places(concurrency.SLOW_ASGI, concurrency.LINE_ASGI)
        application = concurrency.Turns(
            get_asgi_application(), concurrency.REQUESTS_AT_ONCE, places
        )

        def send(*args: Any) -> asyncio.Task[int]:
            return asyncio.create_task(ask(application, *args))

        slow = [send("POST", "/api/v1/auth/login", log_in(n)) for n in range(AT_ONCE)]
        slow += [send("POST", "/api/v1/media", body, kind, token) for _ in range(AT_ONCE)]
        quick = [send("GET", "/healthz") for _ in range(2 * concurrency.REQUESTS_AT_ONCE)]
        quick += [send("GET", "/recommended") for _ in range(3)]
        try:
            answers = await asyncio.wait_for(asyncio.gather(*quick), LIMIT)
            async with asyncio.timeout(LIMIT):
                most = concurrency.SLOW_ASGI + concurrency.LINE_ASGI
                while (waiting := sum(not one.done() for one in slow)) > most:
                    await asyncio.sleep(0.05)
        finally:
            busy.set()
        return answers, await asyncio.gather(*slow), waiting

    quick, slow, waiting = asyncio.run(main())
    assert set(quick) == {200}
    assert set(slow) <= {201, 401, 429, 503}
    assert waiting > 0
    assert 201 in slow
    assert 401 in slow
