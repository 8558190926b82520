"""The archive of a person's own data: all of its parts, in the order of its first page."""

from collections.abc import Callable
from typing import IO

from django.conf import settings
from django.utils import translation

import accounts.exports
import feeds.exports
import interactions.exports
import relations.exports
from accounts.models import User
from socialsite.core.exports import archives
from socialsite.core.exports.jobs import Lost
from socialsite.core.exports.parts import Part, Table

PARTS: tuple[Part, ...] = (
    *accounts.exports.PARTS,
    *feeds.exports.PARTS,
    *interactions.exports.PARTS,
    *relations.exports.PARTS,
)
TABLES: tuple[Table, ...] = relations.exports.TABLES


def write(user_id: int, target: IO[bytes], report: Callable[[int], None]) -> None:
    """Write the archive of a person in their language. Raises Lost for a closed account."""
    user = User.objects.filter(pk=user_id, deleted_at=None).first()
    if user is None:
        raise Lost
    host = settings.SITE_URL.partition("://")[2]
    with translation.override(user.language or settings.LANGUAGE_CODE):
        archives.write(target, user_id, user.username, host, PARTS, TABLES, report)
