"""Events of videos."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class VideoChanged(DomainEvent):
    """A video got its poster, is ready, or failed."""

    aggregate_type: ClassVar[str] = "media"
    aggregate_field: ClassVar[str] = "owner_id"

    owner_id: int
    id: int
