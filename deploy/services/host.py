"""Where the services of one machine listen."""

from dataclasses import dataclass

from deploy.services.site_processes import LOOPBACK


@dataclass(frozen=True)
class Host:
    """One machine: its network namespace, and its addresses for clients and for its equals.

    Without a namespace it is this machine, which many may share: their services have other ports.
    """

    namespace: str = ""
    front: str = LOOPBACK
    back: str = LOOPBACK
