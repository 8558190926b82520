"""The example of a second service, run against the site in one process."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from deploy.services.service import Service, free_port
from deploy.services.site_processes import LOOPBACK, PROJECT_DIR, python
from socialsite.core.runtime import keys
from socialsite.tests import stacks

pytestmark = pytest.mark.e2e

EXAMPLE = PROJECT_DIR / "docs" / "examples" / "second_service.py"


class Caller:
    """A client of the second service."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str, token: str = "") -> int:
        """Return the status of a GET."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.address + path, headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    def answers(self) -> bool:
        """Return True if something listens."""
        try:
            return self("/") == 401
        except OSError:
            return False


@pytest.fixture
def service() -> Iterator[tuple[Caller, Service]]:
    """The second service for a site that will start at `service.env["SITE"]`."""
    port = free_port()
    call = Caller(f"http://{LOOPBACK}:{port}")
    env = {"PORT": str(port), "PATH": "/usr/bin:/bin"}
    service = Service("second", python(str(EXAMPLE)), call.answers, env=env)
    yield call, service
    service.stop()


def test_a_second_service_takes_the_sites_sign_ins(tmp_path: Path, service) -> None:
    call, second = service
    key = keys.new("secret")
    env = {"JWT_KEYS": keys.new("ed25519"), "SERVICE_KEYS": f"second:{key}"}
    with stacks.embedded(tmp_path, **env) as site:
        second.env = second.env | {"SITE": site, "SERVICE_KEY": key}
        second.start()
        person = stacks.Client.new(site, "alice1")
        word = {"username": "alice1", "password": "right.pass1", "client": "android"}
        pair = person("POST", "auth/login", **word)
        access = pair["access"]
        assert (call("/", access), call("/pay", access)) == (200, 200)

        forged = jwt.encode(
            jwt.decode(access, options={"verify_signature": False}),
            keys.parse(keys.read([keys.new("ed25519")])[0]).signing,
            "EdDSA",
            jwt.get_unverified_header(access),
        )
        for bad in (forged, pair["refresh"], access[:-2], "x", ""):
            assert (call("/", bad), call("/pay", bad)) == (401, 401)

        new = person("POST", "auth/login", **word)["access"]  # the older session ends
        assert call("/pay", access) == 401
        assert call("/", access) == 200  # offline verification does not notice
        assert (call("/", new), call("/pay", new)) == (200, 200)
    assert (call("/", new), call("/pay", new)) == (200, 503)  # the site is down
