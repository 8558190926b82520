"""What is packed for a cache takes the memory of its bytes, and no more."""

import tracemalloc

import orjson

from socialsite.core.cache.packing import json_of

VALUE = {"name": "春天", "numbers": [1, 2, 3], "text": "word " * 50}
COUNT = 200


def test_a_packed_value_keeps_no_buffer() -> None:
    tracemalloc.start()
    try:
        kept = [json_of(VALUE) for _ in range(COUNT)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert orjson.loads(kept[0]) == VALUE
    assert taken < 2 * sum(map(len, kept))
