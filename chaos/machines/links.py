"""Machines of a trial as network namespaces with two links each, which can be cut.

`front` leads to this machine, where clients and proxies are; `back` leads to the other machines
only. A link that is cut loses every packet without notice, as a broken network does. So does the
way from one machine to one other machine that is parted from it.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
from typing import Literal, Self

from deploy.services.host import Host

Link = Literal["front", "back"]
LINKS: tuple[Link, ...] = ("front", "back")
TOOLS = ("ip", "nsenter")
# A hardware address that no machine has.
NOBODY = "02:00:00:00:00:01"


class Links:
    """So many machines, for a block; needs root."""

    def __init__(self, number: int) -> None:
        # Names of interfaces have at most 15 characters.
        self._name = f"sso{secrets.token_hex(3)}"
        # 198.18.0.0/15 is for such tests. One part of it for each trial.
        part = secrets.randbelow(256)
        self._front, self._back = f"198.18.{part}", f"198.19.{part}"
        self.hosts = [
            Host(f"{self._name}-{one}", f"{self._front}.{one}", f"{self._back}.{one}")
            for one in range(1, number + 1)
        ]
        self._cleanup = contextlib.ExitStack()

    @property
    def here(self) -> str:
        """The address of this machine for the others."""
        return f"{self._front}.254"

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def cut(self, number: int, link: Link) -> None:
        """Let a link of a machine, counted from 0, lose everything."""
        _ip("link", "set", self._port(number, link), "nomaster", switch=self._switch(link))

    def mend(self, number: int, link: Link) -> None:
        """Let a link work again."""
        port = self._port(number, link)
        _ip("link", "set", port, "master", self._name, switch=self._switch(link))

    def part(self, number: int, other: Host) -> None:
        """Let a machine, counted from 0, lose everything that it sends to another one in front."""
        neighbour = ("replace", other.front, "lladdr", NOBODY, "nud", "permanent")
        _ip("neigh", *neighbour, "dev", "front", switch=self.hosts[number].namespace)

    def rejoin(self, number: int, other: Host) -> None:
        """Let a machine reach another one again."""
        _ip("neigh", "delete", other.front, "dev", "front", switch=self.hosts[number].namespace)

    def isolate(self, number: int) -> None:
        """Let `front` of a machine lose what it and the other machines send to each other."""
        for one, other in self._pairs(number):
            self.part(one, self.hosts[other])

    def unite(self, number: int) -> None:
        """Undo `isolate`."""
        for one, other in self._pairs(number):
            self.rejoin(one, self.hosts[other])

    def _pairs(self, number: int) -> list[tuple[int, int]]:
        """Return the pairs of a machine and each other one, in both orders."""
        others = [one for one in range(len(self.hosts)) if one != number]
        return [(number, one) for one in others] + [(one, number) for one in others]

    def _make(self) -> None:
        """Make a switch for each link, `back` in a namespace of its own, and the machines."""
        names = [f"{self._name}-back", *(host.namespace for host in self.hosts)]
        for name in names:
            _ip("netns", "add", name)
            self._cleanup.callback(_ip, "netns", "delete", name)
            _ip("link", "set", "lo", "up", switch=name)
        for link in LINKS:
            switch = self._switch(link)
            _ip("link", "add", self._name, "type", "bridge", switch=switch)
            self._cleanup.callback(_ip, "link", "delete", self._name, switch=switch)
            _ip("link", "set", self._name, "up", switch=switch)
            for number, host in enumerate(self.hosts):
                self._connect(number, host, link)
        _ip("address", "add", f"{self.here}/24", "dev", self._name)

    def _connect(self, number: int, host: Host, link: Link) -> None:
        switch, port, inside = self._switch(link), self._port(number, link), host.namespace
        pair = ("type", "veth", "peer", "name", link, "netns", inside)
        _ip("link", "add", port, *pair, switch=switch)
        address = host.front if link == "front" else host.back
        _ip("address", "add", f"{address}/24", "dev", link, switch=inside)
        _ip("link", "set", link, "up", switch=inside)
        _ip("link", "set", port, "up", switch=switch)
        self.mend(number, link)

    def _switch(self, link: Link) -> str | None:
        return f"{self._name}-back" if link == "back" else None

    def _port(self, number: int, link: Link) -> str:
        return f"{self._name}{link[0]}{number + 1}"


def missing() -> str:
    """Return why there can be no such machines here; "" if there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)} (apt-get install iproute2 util-linux)"
    try:
        with Links(1):
            return ""
    except subprocess.CalledProcessError as error:
        return f"this machine allows no networks of its own: {error.stderr}"


def _ip(*words: str, switch: str | None = None) -> None:
    """Run `ip` here, or inside a namespace."""
    inside = ["-n", switch] if switch else []
    subprocess.run(["ip", *inside, *words], check=True, capture_output=True, text=True)
