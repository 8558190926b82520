"""All tiles and all numbers by day, in the order of the page."""

import accounts.staff_home
import feeds.staff_home
import interactions.staff_home
import relations.staff_home
import socialsite.doctor.pages
from socialsite.core.staff_home import own
from socialsite.core.staff_home.day_counts import Kind
from socialsite.core.staff_home.tiles import Tile

TILES: tuple[Tile, ...] = (
    # Work that waits.
    interactions.staff_home.OPEN_CASES,
    accounts.staff_home.OPEN_APPEALS,
    accounts.staff_home.WAITING_SIGN_UPS,
    own.FAILED_EVENTS,
    socialsite.doctor.pages.TILE,
    # The last nightly checks.
    relations.staff_home.WRONG_COUNTERS,
    interactions.staff_home.WRONG_COUNTS,
    feeds.staff_home.WRONG_FEEDS,
    feeds.staff_home.WRONG_IN_SEARCH,
    # Room.
    own.FREE_FOR_MEDIA,
    own.FREE_FOR_DATA,
    own.DATABASE_SIZE,
)
DAYS: tuple[Kind, ...] = (
    *accounts.staff_home.DAYS,
    *feeds.staff_home.DAYS,
    *interactions.staff_home.DAYS,
)
