"""Reads of people."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

import orjson
from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from accounts import cache
from accounts import devices as device_names
from accounts.credentials import two_factor
from accounts.models import AuditEntry, Role, SignUpRequest, TokenBatch, TokenVersion, User
from accounts.naming import name_rules
from socialsite.core.cache import reads
from socialsite.core.cache.packing import json_of
from socialsite.core.cache.reads import Values
from socialsite.core.cache.unpacked import Unpacked
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import UserNotFound
from socialsite.core.media import pictures
from socialsite.core.rights import Right
from socialsite.core.times import iso

# Nobody was banned, closed or let in again while this token is the same: a cached set of people
# that leaves such accounts out carries it.
STANDING = cache.STANDING


class Card(TypedDict):
    """A person as shown in lists and beside posts."""

    id: str
    username: str
    nickname: str
    avatar: str
    bio: str


class KnownCard(Card):
    """A card as it is cached; `is_limited` never leaves the server."""

    is_limited: NotRequired[bool]


class Profile(TypedDict):
    """The parts of a person's profile that are not on the card; `joined_at` is an ISO time."""

    banner: str
    links: list[str]
    place: str
    pronouns: str
    likes_shown: bool
    joined_at: str | None


class Device(TypedDict):
    """One device that a person is signed in on."""

    client: str
    kind: str
    name: str
    address: str
    last_seen: str
    current: bool


COLUMNS = ("id", "username", "nickname", "avatar_name", "bio")
_KNOWN_COLUMNS = (*COLUMNS, "limited_at")
# The columns of a person by their names: COLUMNS, and those of an open account `limited_at` too.
Row = dict[str, Any]


def by_id(user_id: int) -> User:
    """Return a person; UserNotFound when there is none or the account is closed or banned."""
    found: User | None = _active.first(user_id)
    if found is None:
        raise UserNotFound
    return found


@compiled
def _active(user_id: int) -> "QuerySet[User]":
    return User.objects.active().filter(pk=user_id)


def by_name(username: str) -> User:
    """Return the person of a username, compared without case; UserNotFound as in `by_id`."""
    found = any_by_name(username)
    if found is None or not found.is_active:
        raise UserNotFound
    return found


def is_name(text: str) -> bool:
    """Return whether a text is a valid username."""
    return name_rules.USERNAME.fullmatch(text) is not None


def any_by_name(username: str) -> User | None:
    """Return the person of a username, banned or closed ones too."""
    # Databases ignore trailing blanks in comparisons, so only valid names are queried.
    if not is_name(username):
        return None
    found: User | None = _named.first(username.lower())
    return found


def request_by_name(username: str) -> SignUpRequest | None:
    """Return the sign-up that waits for an account with a username."""
    if not is_name(username):
        return None
    return SignUpRequest.objects.filter(username_key=username.lower()).first()


@compiled
def _named(username_key: str) -> "QuerySet[User]":
    return User.objects.filter(username_key=username_key)


def ids_by_name(usernames: Collection[str]) -> dict[str, int]:
    """Return lower-case username → id of the people among these with open accounts."""
    found = User.objects.active().filter(username_key__in=list(usernames))
    return dict(found.values_list("username_key", "pk"))


def noted(action: str, subject_type: str, subject_id: int) -> dict[str, Any] | None:
    """Return the detail of the last note of an act on something; None when there is none."""
    notes = AuditEntry.objects.filter(subject_type=subject_type, subject_id=subject_id)
    found = notes.filter(action=action).order_by("-pk").values_list("detail", flat=True)
    return found.first()


def moderates(user: User, right: Right) -> bool:
    """Return whether a person has a right of staff.

    Raises TwoFactorNeeded if they lack a required second factor.
    """
    two_factor.check_staff(user)
    return user.may(right)


class Cards(Values[KnownCard | None]):
    """Cards of people; None for an account that is not open. Change only copies of them."""

    cache = cache.PEOPLE

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        return _packed_cards(idents)

    def decode(self, found: Mapping[int, bytes]) -> dict[int, KnownCard | None]:
        cards = {}
        for ident, packed in found.items():
            known = _unpacked.get(ident)
            if known is None or known[0] != packed:
                known = packed, orjson.loads(packed) if packed else None
                _unpacked.store(ident, *known)
            cards[ident] = known[1]
        return cards


# Many pages show the same people (E10).
_unpacked: Unpacked[KnownCard | None] = Unpacked(300_000)


def cards(
    ids: Iterable[int], *, closed: bool = False, listed_only: bool = False
) -> dict[int, Card]:
    """Return cards of the people among these with open accounts, in one query at most.

    `closed` includes banned and closed accounts, with their names only; it always reads the
    database. `listed_only` leaves out people whom staff limited.
    """
    wanted = set(ids)
    if not wanted:
        return {}
    if closed:
        return _cards_with_closed(wanted)
    reads.run(found := Cards(wanted))
    return {
        ident: public_card(card).copy()
        for ident, card in found.known.items()
        if card is not None and not (listed_only and card.get("is_limited"))
    }


def public_card(card: KnownCard) -> Card:
    """Return a cached card without what only the server knows."""
    if "is_limited" not in card:
        return card
    return Card(**{name: card[name] for name in Card.__annotations__})  # type: ignore[typeddict-item, literal-required]


def idle_days(ids: Iterable[int]) -> dict[int, int]:
    """Return the days since the last visit of the people among these with open accounts, by id."""
    now = timezone.now()
    found = User.objects.active().filter(pk__in=list(ids)).values_list("pk", "last_seen")
    return {ident: (now - seen).days for ident, seen in found}


def _cards_with_closed(ids: Collection[int]) -> dict[int, Card]:
    rows = User.objects.filter(pk__in=ids).values(*COLUMNS, "banned_at", "deleted_at")
    return {
        row["id"]: bare(card_of(row)) if row["banned_at"] or row["deleted_at"] else card_of(row)
        for row in rows
    }


def open_accounts(ids: Collection[int]) -> Iterator[Row]:
    """Return the rows of the people among these with open accounts."""
    return _rows(_open_accounts(ids))


def open_account(username_key: str) -> Iterator[Row]:
    """Return the row of the person with a username, if the account is open."""
    return _rows(_open_account(username_key))


@compiled
def _open_accounts(ids: Collection[int]) -> "QuerySet[User, Any]":
    return User.objects.active().filter(pk__in=ids).values_list(*_KNOWN_COLUMNS)


@compiled
def _open_account(username_key: str) -> "QuerySet[User, Any]":
    people = User.objects.active().filter(username_key=username_key)
    return people.values_list(*_KNOWN_COLUMNS)


def _rows(found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    return (dict(zip(_KNOWN_COLUMNS, values, strict=True)) for values in found)


def _packed_cards(ids: Collection[int]) -> dict[int, bytes]:
    """Read cards in their cached form: b"" for an account that is not open."""
    found = {row["id"]: json_of(_known_card(row)) for row in open_accounts(ids)}
    return {ident: found.get(ident, b"") for ident in ids}


def _known_card(row: Row) -> KnownCard:
    card = card_of(row)
    is_limited = {"is_limited": True} if row["limited_at"] is not None else {}
    return KnownCard(**card, **is_limited)  # type: ignore[typeddict-item]


def bare(card: Card) -> Card:
    """Return a card with the names only."""
    return {**card, "avatar": "", "bio": ""}


def card_of(row: Row) -> Card:
    """Return the card of a row of COLUMNS."""
    return Card(
        id=str(row["id"]),
        username=row["username"],
        nickname=row["nickname"],
        avatar=pictures.url_of(row["avatar_name"]),
        bio=row["bio"],
    )


def profile_of(user: User) -> Profile:
    """Return the parts of a person's profile that only its page shows, without a query."""
    return Profile(
        banner=user.banner,
        links=list(user.links),
        place=user.place,
        pronouns=user.pronouns,
        likes_shown=user.likes_shown,
        joined_at=iso(int(user.created_at.timestamp() * 1000)),
    )


def staff_names() -> list[str]:
    """Return the usernames and nicknames of the people of staff."""
    # Every combination with a role of staff is above that of a member alone.
    staff = User.objects.active().filter(roles__gt=Role.MEMBER)
    return [name for names in staff.values_list("username", "nickname") for name in names]


class StepsOfProfile(NamedTuple):
    """Whether a person wants to see the first steps, and has a picture and words about them."""

    wanted: bool
    has_profile: bool


def first_steps(user_id: int) -> StepsOfProfile:
    """Return what the account says about the first steps of a person."""
    row = User.objects.values_list("first_steps", "avatar_name", "bio").get(pk=user_id)
    return StepsOfProfile(wanted=row[0], has_profile=bool(row[1] and row[2]))


def terms_accepted(user_id: int) -> int:
    """Return the newest version of the site's terms that a person accepted; 0 for none."""
    return User.objects.values_list("terms_accepted", flat=True).get(pk=user_id)


def preferences(user_id: int) -> dict[str, bool | None]:
    """Return what a person sees without asking, by field; None: each browser has its own choice."""
    found = User.objects.filter(pk=user_id).values("unfold_notes", "show_sensitive")
    return dict(found.get())


def language_of(user_id: int) -> str:
    """Return the language that a person has chosen; empty for none."""
    return User.objects.filter(pk=user_id).values_list("language", flat=True).first() or ""


def bare_profile() -> Profile:
    """Return a profile that shows nothing, such as that of a blocked person."""
    return Profile(banner="", links=[], place="", pronouns="", likes_shown=False, joined_at=None)


def devices(user_id: int, client: str) -> list[Device]:
    """Return the devices that a person is signed in on, last seen first, in one query.

    `client` is the requesting one. There are at most a few dozen (`actions.clients.LIVE_MAX`).
    """
    now = timezone.now()
    batch = TokenBatch.objects.filter(pk=OuterRef("user_id")).values("refresh_floor")
    rows = TokenVersion.objects.filter(
        user=user_id,
        refresh_bat__gt=Subquery(batch),
        refresh_iat__gt=int((now - settings.REFRESH_LIFETIME).timestamp()),
    ).exclude(refresh_jti="")
    columns = ("client", "user_agent", "address", "last_seen")
    found = rows.order_by("-last_seen", "-pk").values_list(*columns)
    return [
        Device(
            client=name,
            kind=device_names.kind_of(name),
            name=device_names.name_of(name, user_agent),
            address=address,
            last_seen=iso(int((now if name == client else last_seen).timestamp() * 1000)),
            current=name == client,
        )
        for name, user_agent, address, last_seen in found
    ]
