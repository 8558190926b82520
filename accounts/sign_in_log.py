"""The log of a person's sign-ins, and whether a device proved lately who uses it."""

from datetime import timedelta
from typing import TypedDict

from django.db.models import QuerySet
from django.utils import timezone

from accounts import devices
from accounts.models import SignIn, TokenVersion
from socialsite.core import ids
from socialsite.core.positions import Page, Position, cut
from socialsite.core.times import iso

# How long the log is kept.
DAYS = 90
# For this time after a sign-in or a password a device may take what a stolen device must not.
FRESH = timedelta(minutes=15)
STEP = 1000  # rows deleted by one statement


class SignInBody(TypedDict):
    """One sign-in. `name` is that of the device; `address` is empty once it was erased."""

    id: str
    client: str
    kind: str
    name: str
    address: str
    at: str
    current: bool


def note(row: TokenVersion) -> None:
    """Add the sign-in that a client's row describes, in its transaction."""
    SignIn.objects.create(
        user_id=row.user_id,
        client=row.client,
        user_agent=row.user_agent,
        address=row.address,
        address_at=row.address_at,
    )


def is_unknown(row: TokenVersion) -> bool:
    """Return whether a person never signed in on such a device, while the log has others.

    Devices are compared by their names: browser and operating system.
    """
    known = _names(SignIn.objects.filter(user=row.user_id))
    return bool(known) and _name(row) not in known


def first_seen(user_id: int, since: timedelta) -> list[SignInBody]:
    """Return the recent sign-ins on devices that were unknown then, newest first."""
    limit = ids.first_of(int((timezone.now() - since).timestamp() * 1000))
    rows = SignIn.objects.filter(user=user_id)
    known, found = _names(rows.filter(pk__lt=limit)), list[SignIn]()
    for row in rows.filter(pk__gte=limit).order_by("pk"):
        if known and _name(row) not in known:
            found.append(row)
        known.add(_name(row))
    return [_body(row, None) for row in reversed(found)]


def in_words(one: SignInBody) -> str:
    """Return a sign-in as mails say it."""
    return f"{one['name']}, {one['at'][:16].replace('T', ' ')} UTC {one['address']}".strip()


def _names(rows: "QuerySet[SignIn]") -> set[str]:
    return {devices.name_of(*pair) for pair in rows.values_list("client", "user_agent").distinct()}


def _name(row: SignIn | TokenVersion) -> str:
    return devices.name_of(row.client, row.user_agent)


def of_person(user_id: int, client: str, cursor: Position | None, size: int) -> Page[SignInBody]:
    """Return a page of a person's sign-ins, the newest first; `client` is the asking device."""
    rows = SignIn.objects.filter(user=user_id).order_by("-id")
    mine = rows.filter(client=client).values_list("pk", flat=True).first()
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor.id)
    page = cut(list(rows[: size + 1]), size, lambda row: Position(ids.ms_of(row.pk), row.pk))
    return page.with_items([_body(row, mine) for row in page.items])


def _body(row: SignIn, mine: int | None) -> SignInBody:
    return SignInBody(
        id=str(row.pk),
        client=row.client,
        kind=devices.kind_of(row.client),
        name=_name(row),
        address=row.address,
        at=iso(ids.ms_of(row.pk)),
        current=row.pk == mine,
    )


def is_fresh(user_id: int, client: str) -> bool:
    """Return whether a device signed in, or proved the password, within FRESH."""
    rows = SignIn.objects.filter(user=user_id, client=client).order_by("-id")
    proved = rows.values_list("proved_at", flat=True).first()
    return proved is not None and timezone.now() - proved < FRESH


def prove(user_id: int, client: str) -> None:
    """Note that the person of a device just proved who they are."""
    rows = SignIn.objects.filter(user=user_id, client=client).order_by("-id")
    last = rows.values_list("pk", flat=True).first()
    if last is None:  # its sign-in is older than the log
        SignIn.objects.create(user_id=user_id, client=client)
    else:
        SignIn.objects.filter(pk=last).update(proved_at=timezone.now())


def purge() -> int:
    """Delete entries older than DAYS, at most STEP of them; return how many."""
    limit = timezone.now() - timedelta(days=DAYS)
    old = SignIn.objects.filter(pk__lt=ids.first_of(int(limit.timestamp() * 1000)))
    found = list(old.order_by("pk").values_list("pk", flat=True)[:STEP])
    return SignIn.objects.filter(pk__in=found).delete()[0]
