"""The links in mails of tests."""

import re
from typing import Any


def link_in(message: Any) -> str:
    return token_in(str(message.body))


def token_in(text: str) -> str:
    found = re.search(r"/(?:email|recover)/(\S+)", text)
    assert found, text
    return found[1]
