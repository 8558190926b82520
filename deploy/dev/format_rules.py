"""Events and tasks that processes of the version before cannot work with.

During an update old and new processes share the outbox and the broker. `formats.json`, beside this
file, has the events and tasks of the last version. `python -m deploy.dev.format_rules` prints what
does not go together with them, and ends with 1; with `--write`, which belongs to the release of a
version, it stores those of this code.

- An event may gain fields that have defaults. Whatever else changes needs a higher `format`, which
  old processes leave to new ones. It stays in the code for one more version when nothing publishes
  it any more.
- A task keeps its parameters; others need a task with another name. Old workers drop tasks that
  they do not know, and sweeps find the work.
"""

import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("formats.json")
OURS = ("accounts.", "core.", "feeds.", "interactions.", "relations.", "site.")

Formats = Mapping[str, Mapping[str, Any]]


def present() -> Formats:
    """Return the events and tasks of this code; the apps must be loaded."""
    from celery import current_app

    from socialsite.core.events import registry

    current_app.loader.import_default_modules()
    tasks = {name: task for name, task in current_app.tasks.items() if name.startswith(OURS)}
    events = {
        name: kind
        for name, kind in registry.event_types.items()
        if not name.startswith("_") and ".tests." not in kind.__module__
    }
    return {
        "events": {name: _event(kind) for name, kind in sorted(events.items())},
        "tasks": {name: str(inspect.signature(task.run)) for name, task in sorted(tasks.items())},
    }


def _event(kind: Any) -> dict[str, Any]:
    fields = dataclasses.fields(kind)
    return {
        "format": kind.format,
        "fields": {field.name: _type_name(field.type) for field in fields},
        "optional": [
            field.name
            for field in fields
            if (field.default, field.default_factory) != (dataclasses.MISSING, dataclasses.MISSING)
        ],
    }


def _type_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def faults(before: Formats, now: Formats) -> Iterator[str]:
    """Yield what processes of two versions understand differently."""
    for name, old in before["events"].items():
        if new := now["events"].get(name):
            yield from (f"event {name}: {text}" for text in _event_faults(old, new))
        else:
            yield f"event {name}: the version before publishes it; keep it for this version"
    for name, parameters in before["tasks"].items():
        if name not in now["tasks"]:
            yield f"task {name}: the version before sends it; keep it for this version"
        elif now["tasks"][name] != parameters:
            yield f"task {name}: its parameters changed; give the new task another name"


def _event_faults(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for field in new["fields"].keys() - old["fields"].keys() - set(new["optional"]):
        yield f"events of the version before lack {field}; give it a default"
    changed = {name for name, kind in old["fields"].items() if new["fields"].get(name) != kind}
    if changed and new["format"] <= old["format"]:
        yield f"changed: {', '.join(sorted(changed))}; raise its format"


def main() -> int:
    """Print the faults, or store the formats of this code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django

    django.setup()
    now = present()
    if "--write" in sys.argv[1:]:
        RECORD.write_text(json.dumps(now, indent=2) + "\n")
        return 0
    found = [*faults(json.loads(RECORD.read_text()), now)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
