"""Imports of follows and blocks: tables of names, as Mastodon and our archives write them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts import queries as accounts_queries
from accounts.models import User
from relations import actions, queries
from relations.models import I_FOLLOW, Relation
from relations.pairs import states
from socialsite.core.errors import Blacklisted, FollowLimit, SelfRelation, UserBanned, UserNotFound
from socialsite.core.imports import tables
from socialsite.core.imports.kinds import (
    CLOSED,
    NO_NAME,
    OTHER_SITE,
    UNKNOWN,
    Kind,
    Made,
    Refused,
    Row,
    Unreadable,
)
from socialsite.core.models import ImportItem

I_BLOCK = (Relation.BLACKLISTING, Relation.BI_BLACKLISTING)


@dataclass(frozen=True, slots=True)
class _Told:
    """A name of a table: of this site, or why not."""

    number: int
    source: str
    key: str = ""
    error: str = ""


def told(number: int, cell: str, host: str) -> _Told:
    """Read a cell: `name`, `@name`, `name@domain`, of which only this site's domain counts."""
    source = cell[: ImportItem.SOURCE_MAX]
    name, at, domain = cell.removeprefix("@").partition("@")
    if at and domain.casefold() != host.casefold():
        return _Told(number, source, error=OTHER_SITE)
    if not accounts_queries.is_name(name):
        return _Told(number, source, error=NO_NAME)
    return _Told(number, source, name.lower())


def _rows(there: Collection[Relation]) -> Callable[[int, Path, int], Iterator[Row]]:
    def read(owner_id: int, path: Path, after: int) -> Iterator[Row]:
        for step in tables.steps(path, after):
            try:
                accounts_queries.by_id(owner_id)
            except UserNotFound:
                raise Unreadable(CLOSED) from None
            yield from _found(owner_id, step, there)

    return read


def _found(
    owner_id: int, step: Sequence[tables.Cell], there: Collection[Relation]
) -> Iterator[Row]:
    """Find the people of some rows with two queries. Those who block the person are unknown."""
    host = settings.SITE_URL.partition("://")[2]
    names = [told(number, cell, host) for number, cell in step]
    ids = accounts_queries.ids_by_name({one.key for one in names if one.key})
    relations = queries.relations_of(owner_id, ids.values())
    for one in names:
        target = ids.get(one.key)
        state = None if target is None else relations[target]
        error = one.error
        if not error and (target is None or state is Relation.BLACKLISTED):
            error = UNKNOWN
        if error:
            yield Row(one.number, one.source, error=error)
        else:
            yield Row(one.number, one.source, target, is_there=state in there)


def _refused(make: Callable[[User, int], int | None]) -> Callable[[int, Row], Made | None]:
    """Return an action whose errors are those of rows."""

    def run(owner_id: int, row: Row) -> Made | None:
        owner, target_id = User(pk=owner_id), row.target_id or 0
        try:
            at = make(owner, target_id)
            return None if at is None else Made(target_id, at)
        except (UserNotFound, UserBanned):
            raise Refused(UNKNOWN) from None
        except Blacklisted:
            mine = states.blocks(queries.relation(owner_id, target_id))
            raise Refused("BLOCKED_BY_YOU" if mine else UNKNOWN) from None
        except (FollowLimit, SelfRelation) as error:
            raise Refused(error.name) from None

    return run


def _undone(end: Callable[[User, int, int], Any]) -> Callable[[int, int, int], None]:
    def run(owner_id: int, target_id: int, at: int) -> None:
        # An account that is gone by now has no relations.
        try:
            end(User(pk=owner_id), target_id, at)
        except UserNotFound:
            return

    return run


FOLLOWS = Kind(_rows(I_FOLLOW), _refused(actions.follow_quietly), _undone(actions.unfollow_of))
BLOCKS = Kind(_rows(I_BLOCK), _refused(actions.block_at), _undone(actions.unblock_of))
