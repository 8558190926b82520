"""What this machine knows about its back-ups, in a folder that only their owner reads."""

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MEDIA = "media.txt"
STATE = "state.json"


@dataclass
class State:
    """The copied part of the binary log, and the copied uploads.

    `lineage` names the binary log of this server: a restored one begins a new log under the same
    names of files.
    """

    folder: Path
    target: str = ""
    lineage: str = field(default_factory=lambda: secrets.token_hex(4))
    written: str = ""  # the last GTID in the copied part
    logs: list[str] = field(default_factory=list)
    media: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path, target: str) -> "State":
        """Read the state; for another target than the last time it is empty."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = cls(folder, target)
        if not (folder / STATE).exists():
            return state
        known = json.loads((folder / STATE).read_text())
        state.lineage = known["lineage"]
        if known["target"] == target:
            state.written = known["written"]
            state.logs = known["logs"]
            state.media = set((folder / MEDIA).read_text().splitlines())
        return state

    def write(self) -> None:
        """Store the state; a machine that dies meanwhile keeps the old one."""
        self._replace(MEDIA, "".join(f"{name}\n" for name in sorted(self.media)))
        known = {
            "target": self.target,
            "lineage": self.lineage,
            "written": self.written,
            "logs": self.logs,
        }
        self._replace(STATE, json.dumps(known))

    def _replace(self, name: str, text: str) -> None:
        part = self.folder / f".{name}.part"
        part.write_text(text)
        part.chmod(0o600)
        os.replace(part, self.folder / name)


def uploads(media: Path) -> Iterable[str]:
    """Return the names of all uploads below a folder, without the links in `public/`."""
    for parent, directories, names in os.walk(media):
        if Path(parent) == media and "public" in directories:
            directories.remove("public")
        for name in names:
            if not name.startswith("."):
                yield str(Path(parent, name).relative_to(media))
