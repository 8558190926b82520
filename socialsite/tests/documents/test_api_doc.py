"""docs/api.md: its quick start runs as written, and its table has every error."""

import re
import subprocess

import pytest

from accounts import live_hint_types
from socialsite.core.errors import AppError
from socialsite.tests import stacks
from socialsite.tests.documents.documents import ROOT

DOCUMENT = (ROOT / "docs/api.md").read_text()
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"^\| (\d+) \| `([A-Z_]+)` \| (\d{3}) \| [A-Z].+\. \|$", re.MULTILINE)
MESSAGE = re.compile(r'`\{"type": "(\w+)"')
HANDLED = re.compile(r'hint\.type === "(\w+)"')
WORD = {"password": "demo.pass1", "client": "other"}


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_the_quick_start_runs_as_printed(live_server) -> None:
    guest = stacks.Client(live_server.url)
    guest("POST", "auth/register", username="xiaoming", nickname="Xiaoming", **WORD)
    pair = guest("POST", "auth/register", username="alice", nickname="Alice", **WORD)
    guest.token = pair["access"]
    for number in range(4):
        guest("POST", "posts", kind="micro", content=f"Number {number}")
    script = "".join(BLOCK.findall(DOCUMENT)).replace("http://127.0.0.1:8000", live_server.url)
    argv = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert re.findall('"content": "(.*)"', said) == [
        *("Number 3", "Number 2", "Number 1", "Number 0", "Hello again"),
    ]
    assert '"like_count": 1' in said
    assert '"relation": "FOLLOWING"' in said
    assert re.findall('"error": "(.*)"', said) == ["BANNED_ACCESS_TOKEN"]


@pytest.mark.once
def test_the_document_and_the_script_of_pages_know_every_message_of_the_socket() -> None:
    script = (ROOT / "static/js/session.js").read_text()
    assert set(MESSAGE.findall(DOCUMENT)) == live_hint_types.names()
    assert set(HANDLED.findall(script)) == live_hint_types.names()


@pytest.mark.once
def test_the_table_has_every_error() -> None:
    rows = {(int(code), name, int(status)) for code, name, status in ERROR.findall(DOCUMENT)}
    assert rows == {(error.code, error.name, error.status) for error in _errors(AppError)}


def _errors(base: type[AppError]) -> set[type[AppError]]:
    found = {base} if base.__module__ == AppError.__module__ else set()
    return found.union(*(_errors(error) for error in base.__subclasses__()))
