"""IP addresses of sign-ins, sign-ups and acts: retention and masking.

They are personal data. IP_DAYS bounds their retention. Staff see whole addresses with the
right `ADDRESSES`, others only the network. A person sees the addresses of their own devices.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.models import AuditEntry, SignIn, SignUpRequest, TokenVersion, User
from socialsite.core import db
from socialsite.core.http import ip_addresses
from socialsite.core.rights import Right

ADDRESS_MAX = 45
STEP = 500  # rows erased by one statement
TABLES: tuple[type[Model], ...] = (TokenVersion, SignIn, AuditEntry, SignUpRequest)


def stored(address: str) -> tuple[str, datetime | None]:
    """Return (address, time) to store in a row; ("", None) where IP_DAYS forbids storing."""
    if not address or not settings.IP_DAYS:
        return "", None
    return address[:ADDRESS_MAX], timezone.now()


def shown_to(viewer: User, address: str) -> str:
    """Return an address as staff see it: whole with the right to it, else its network."""
    return address if viewer.may(Right.ADDRESSES) else masked(address)


def masked(address: str) -> str:
    """Return `203.0.113.0/24`, for IPv6 the /48; "" for an invalid address."""
    return ip_addresses.network(address, ip_addresses.AROUND)


def erase_old() -> int:
    """Erase addresses older than IP_DAYS, at most STEP of each table; returns their number.

    A person who signs in at the same moment keeps the new address, since its time is checked again
    under the lock of the row.
    """
    return sum(_erase(_old(table)) for table in TABLES)


def overdue_seconds() -> float:
    """Return the age of the oldest overdue address in seconds; 0 when none is overdue."""
    oldest = [
        _old(table).order_by("address_at").values_list("address_at", flat=True).first()
        for table in TABLES
    ]
    due = [found for found in oldest if found is not None]
    return (_limit() - min(due)).total_seconds() if due else 0.0


def _limit() -> datetime:
    return timezone.now() - timedelta(days=settings.IP_DAYS)


def _old(table: type[Model]) -> QuerySet[Model]:
    """Return the rows whose address is to be erased, by the index of `address_at`."""
    return table._default_manager.filter(address_at__lte=_limit())


@db.atomic
def _erase(old: QuerySet[Model]) -> int:
    ids = list(old.order_by("address_at").values_list("pk", flat=True)[:STEP])
    return old.filter(pk__in=ids).update(address="", address_at=None)
