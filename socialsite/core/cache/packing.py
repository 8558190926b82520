"""Values packed for caches."""

from typing import Any

import orjson


def json_of(value: Any) -> bytes:
    """Return a value as JSON, to be kept: what orjson returns keeps its buffer of 16 kB."""
    return bytes(memoryview(orjson.dumps(value)))
