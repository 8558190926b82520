"""Decode pictures in a separate process, and measure its memory.

`python -m socialsite.core.tests.media.peak FILE...` prints JSON. For each file it has the peak
growth of the resident size in megabytes, the growth that remains afterwards, and the CPU time.
"""

import io
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

MEGABYTE = 1024


def resident(name: str, pid: int | str = "self") -> float:
    """Return a resident size of a process in megabytes: VmRSS (now) or VmHWM (peak)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / MEGABYTE
    raise LookupError(name)


def reset_peak(pid: int | str = "self") -> None:
    """Reset VmHWM."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def main(files: list[str]) -> None:
    """Decode each file, after small ones of every format that trigger lazy loading."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    from PIL import Image

    from socialsite.core import errors
    from socialsite.core.media import encoding
    from socialsite.core.runtime import memory

    memory.tune()
    for kind in encoding.FORMATS:
        small = io.BytesIO()
        Image.new("RGB", (600, 600)).save(small, kind)
        encoding.encode(io.BytesIO(small.getvalue()))
    found = {}
    for name in files:
        data = io.BytesIO(Path(name).read_bytes())
        reset_peak()
        before = resident("VmRSS")
        started = time.process_time()
        with suppress(errors.UnsupportedMedia):
            encoding.encode(data)
        took = time.process_time() - started
        del data
        grown = [resident(name) - before for name in ("VmHWM", "VmRSS")]
        found[Path(name).name] = [*grown, took]
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
