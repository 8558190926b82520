"""Every budget of the site in one table: its rate, its owner, and where it is counted.

- A budget is a token bucket with room for `capacity` tokens, refilled by `hourly` tokens an hour.
  `socialsite.core.rate_limits.buckets` counts buckets in Redis,
  `socialsite.core.rate_limits.allowances` counts them in the database. With `hourly` 0 a budget is
  a plain maximum at any one time.
- Budgets that protect security are counted in the database, so that losing Redis bypasses none of
  them. Budgets that keep the load fair are counted in Redis and are not enforced while Redis is
  down.
- A deployer changes a row with `BUDGET_<NAME>=capacity/hourly`; `0` removes the limit.
  `settings.BUDGETS` has the effective rates.
- docs/abuse.md shows this table; a test compares the two.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from django.conf import settings

PREFIX = "BUDGET_"
MINUTE, HOUR = 60, 3600
CAPACITY_MAX, HOURLY_MAX = 1_000_000, 100_000_000


class Per(StrEnum):
    """The owner of a budget; the values appear in the docs."""

    PERSON = "person"
    ADDRESS = "address"
    NETWORK = "network"
    VISITOR = "person, or address of a guest"
    GUEST = "address of a guest"
    ASKER = "person, and address"
    RECIPIENT = "recipient"
    LINKS = "account and recipient"
    SITE = "whole site"
    SERVICE = "service key"
    SOCKET = "socket"
    TEXT = "text"
    ACCOUNT = "account"
    HERE = "account and address"
    DEVICE = "account and browser"
    HOST = "host of a link"


class Store(StrEnum):
    """The place where a budget is counted; the values appear in the docs."""

    DATABASE = "database"
    REDIS = "Redis"
    PROCESS = "process"
    NOWHERE = "-"


class Rate(NamedTuple):
    """Bucket size, and tokens refilled in an hour (0: no refill)."""

    capacity: int
    hourly: float

    @property
    def per_second(self) -> float:
        """Tokens refilled in a second."""
        return self.hourly / HOUR


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of the table."""

    name: str
    capacity: int
    hourly: float
    per: Per
    store: Store
    about: str
    # Taken only for pages after the first, which are requested with `cursor` or `max_time`.
    deep: bool = False

    @property
    def default(self) -> Rate:
        """The rate that applies unless the environment sets another one."""
        return Rate(self.capacity, self.hourly)

    @property
    def rate(self) -> Rate | None:
        """The effective rate; None for no limit."""
        rates: Mapping[str, Rate | None] = settings.BUDGETS
        return rates.get(self.name, self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets the rate."""
        return PREFIX + self.name.upper()


@dataclass(frozen=True, slots=True)
class Guesses(Budget):
    """Free failures: each failure after them doubles the wait before the next attempt.

    The wait starts at `step` seconds and is `cap` seconds at most. Failures expire `window` seconds
    after the first one. With `idle`, they expire `window` seconds after the last attempt, and at
    once after a success (`accounts.sign_in.attempts`).
    """

    cap: int = field(default=MINUTE, kw_only=True)
    step: int = field(default=1, kw_only=True)
    idle: bool = field(default=False, kw_only=True)


def window_of(rate: Rate) -> int:
    """Return the seconds after which failures expire: the time in which the bucket refills."""
    return round(rate.capacity * HOUR / rate.hourly)


# --- counted in the database --------------------------------------------------------------------
SIGN_UP = Budget(
    *("sign_up", 20, 60, Per.ADDRESS, Store.DATABASE),
    "Accounts created. A refused sign-up counts as sign_up_refused instead.",
)
SIGN_UP_NETWORK = Budget(
    *("sign_up_network", 100, 300, Per.NETWORK, Store.DATABASE),
    "Accounts created from one network.",
)
MAIL_ASKER = Budget(
    *("mail_asker", 20, 30, Per.ASKER, Store.DATABASE),
    "Mails requested, sent or not: links that confirm an address or set a new password.",
)
MAIL_NETWORK = Budget(
    *("mail_network", 60, 120, Per.NETWORK, Store.DATABASE),
    "The same mails, requested from one network.",
)
MAIL_RECIPIENT = Budget(
    *("mail_recipient", 3, 4, Per.LINKS, Store.DATABASE),
    "Mails of one kind that somebody requested; further mails are not sent.",
)
MAIL_MAILBOX = Budget(
    *("mail_mailbox", 10, 10, Per.RECIPIENT, Store.DATABASE),
    "The same mails for all accounts together; further mails are not sent.",
)
MAIL_SITE = Budget(
    *("mail_site", 300, 600, Per.SITE, Store.DATABASE),
    "Mails that somebody requested; further mails are sent later.",
)
NOTICE = Budget(
    *("notice", 5, 10, Per.RECIPIENT, Store.DATABASE),
    "Notices of one kind about one account: a changed password, address or second factor.",
)
NOTICE_SITE = Budget(
    *("notice_site", 1000, 2000, Per.SITE, Store.DATABASE),
    "Notices of changed passwords, addresses and second factors; further notices are sent later.",
)
INTROSPECT_REFUSED = Budget(
    *("introspect_refused", 20, 60, Per.ADDRESS, Store.DATABASE),
    "Introspections without a valid service key.",
)

# --- failed attempts, counted in the database ---------------------------------------------------
# Waits per address and per account are a minute at most: many people may share an address (all of
# them behind a proxy that TRUSTED_PROXIES does not list), and an account is the victim of guessing,
# not the attacker. A success resets the first two budgets.
QUARTER = 15 * MINUTE
LOGIN_HERE = Guesses(
    *("login_here", 5, 5, Per.HERE, Store.DATABASE), "Wrong passwords.", cap=QUARTER, idle=True
)
LOGIN_DEVICE = Guesses(
    *("login_device", 5, 5, Per.DEVICE, Store.DATABASE),
    "Wrong passwords from a browser that signed in to the account before.",
    cap=QUARTER,
    idle=True,
)
LOGIN_ADDRESS = Guesses(
    *("login_address", 50, 50, Per.ADDRESS, Store.DATABASE), "Wrong passwords of strangers."
)
LOGIN_ACCOUNT = Guesses(
    *("login_account", 100, 100 / 24, Per.ACCOUNT, Store.DATABASE), "Wrong passwords of strangers."
)
# Codes are short, but only somebody who knows the password can try one.
CODE_HERE = Guesses(
    *("code_here", 5, 5, Per.HERE, Store.DATABASE), "Wrong codes.", cap=QUARTER, idle=True
)
CODE_DEVICE = Guesses(
    *("code_device", 5, 5, Per.DEVICE, Store.DATABASE),
    "Wrong codes from a browser that signed in to the account before.",
    cap=QUARTER,
    idle=True,
)
CODE_ACCOUNT = Guesses(
    *("code_account", 10, 10 / 24, Per.ACCOUNT, Store.DATABASE),
    "Wrong codes of strangers.",
    cap=QUARTER,
)
# Password and codes of a user who is already signed in. Only the thief of an open session would
# guess codes here, so a success resets nothing.
PASSWORD = Guesses(
    *("password", 5, 5, Per.PERSON, Store.DATABASE),
    "Wrong passwords of somebody who is signed in.",
    cap=QUARTER,
    idle=True,
)
OWN_CODE = Guesses(
    *("own_code", 5, 5 / 24, Per.PERSON, Store.DATABASE),
    "Wrong codes of somebody who is signed in.",
    cap=QUARTER,
)
SIGN_UP_REFUSED = Guesses(
    *("sign_up_refused", 50, 50, Per.ADDRESS, Store.DATABASE),
    "Sign-ups with a taken name, or against the rules.",
)

# --- writes, counted in Redis -------------------------------------------------------------------
# Posts and reposts: each is delivered to all followers.
PUBLISH = Budget(*("publish", 60, 120, Per.PERSON, Store.REDIS), "Posts and reposts.")
# Each edit is stored as a version, and read again by everybody who has the text in a cache.
EDIT = Budget(*("edit", 60, 240, Per.PERSON, Store.REDIS), "Edits of posts and comments.")
DRAFT = Budget(
    *("draft", 120, 1200, Per.PERSON, Store.REDIS),
    "Drafts saved and deleted; one with a time also takes from `publish`.",
)
COMMENT = Budget(*("comment", 60, 720, Per.PERSON, Store.REDIS), "Comments and replies.")
# Actions that can be done and undone without end cost the same both ways (T27).
MARK = Budget(
    *("mark", 300, 10_800, Per.PERSON, Store.REDIS),
    "Likes, votes, bookmarks, pins, comment settings and undone reposts.",
)
# People have to read the reports.
REPORT = Budget(*("report", 20, 20, Per.PERSON, Store.REDIS), "Reports.")
DELETE = Budget(*("delete", 300, 3600, Per.PERSON, Store.REDIS), "Posts and comments deleted.")
# One bucket for follow and unfollow: alternating them would cost unlimited backfills (T27).
FOLLOW = Budget(
    *("follow", 100, 3600, Per.PERSON, Store.REDIS), "Follows and unfollows, also of tags."
)
BLOCK = Budget(*("block", 60, 600, Per.PERSON, Store.REDIS), "Blocks and unblocks.")
UPLOAD = Budget(*("upload", 60, 300, Per.PERSON, Store.REDIS), "Pictures uploaded.")
# Each is converted, which takes minutes of a processor.
VIDEO = Budget(*("video", 10, 20, Per.PERSON, Store.REDIS), "Videos uploaded.")
PROFILE = Budget(*("profile", 30, 60, Per.PERSON, Store.REDIS), "Changes of one's profile.")
NOTIFICATION = Budget(
    *("notification", 300, 3600, Per.PERSON, Store.REDIS),
    "Notifications marked as read, and changes of notification settings.",
)
PUSH = Budget(*("push", 12, 60, Per.PERSON, Store.REDIS), "Devices that turn pushes on or off.")
PUSH_SENT = Budget(
    *("push_sent", 120, 360, Per.PERSON, Store.REDIS),
    "Pushes sent to the devices of a person; further pushes are not sent.",
)
ACCOUNT = Budget(
    *("account", 30, 60, Per.PERSON, Store.REDIS),
    "Changes of one's password, e-mail address and second factor.",
)
DEVICES = Budget(
    *("devices", 120, 1200, Per.PERSON, Store.REDIS), "List of devices, and sign-outs of them."
)
LOGIN = Budget(*("login", 200, 2000, Per.ADDRESS, Store.REDIS), "Log-ins, right or wrong.")
REFRESH = Budget(*("refresh", 60, 600, Per.PERSON, Store.REDIS), "New access tokens.")
LINK = Budget(*("link", 60, 300, Per.ADDRESS, Store.REDIS), "Links from mails that are opened.")
WS_TICKET = Budget(*("ws_ticket", 60, 600, Per.PERSON, Store.REDIS), "Tickets for sockets.")
LANGUAGE = Budget(
    *("language", 60, 600, Per.ADDRESS, Store.REDIS),
    "Changes of the language and of what is unfolded.",
)
STAFF = Budget(*("staff", 600, 7200, Per.PERSON, Store.REDIS), "Forms sent in the admin.")

# --- reads, counted in Redis: no human reader reaches these limits ------------------------------
READ = Budget(
    *("read", 3000, 36_000, Per.PERSON, Store.REDIS),
    "Pages and lists, except the first page of one's home feed.",
)
DEEP_READ = Budget(
    *("deep_read", 600, 7200, Per.PERSON, Store.REDIS),
    "Pages of lists and feeds after the first one.",
    deep=True,
)
GUEST_READ = Budget(
    *("guest_read", 3000, 72_000, Per.GUEST, Store.REDIS), "Pages and lists read by guests."
)
SEARCH = Budget(
    *("search", 300, 3600, Per.VISITOR, Store.REDIS), "Searches for posts, people and tags."
)
COMPLETION = Budget(
    *("completion", 600, 14_400, Per.PERSON, Store.REDIS),
    "Names, tags and emoji suggested while a text is written.",
)
# Each renders a text of any length.
PREVIEW = Budget(*("preview", 120, 1200, Per.PERSON, Store.REDIS), "Previews of articles.")
RELATION_READ = Budget(
    *("relation_read", 600, 14_400, Per.PERSON, Store.REDIS),
    "Lists of people, and states of relations.",
)
POLL = Budget(
    *("poll", 600, 14_400, Per.PERSON, Store.REDIS),
    "Reads of notifications, and counts of new posts and notifications.",
)
SCHEMA = Budget(
    *("schema", 60, 1200, Per.ADDRESS, Store.REDIS), "The OpenAPI document and its page."
)
INTROSPECT = Budget(
    *("introspect", 6000, 360_000, Per.SERVICE, Store.REDIS), "Introspections by services."
)

# --- requests to other sites, counted in Redis ---------------------------------------------------
PREVIEW_HOST = Budget(
    *("preview_host", 30, 240, Per.HOST, Store.REDIS),
    "Pages read for previews of links; further pages are read later.",
)

# --- sockets, counted in each process -----------------------------------------------------------
SOCKETS = Budget(*("sockets", 20, 0, Per.PERSON, Store.PROCESS), "Sockets that are open.")
SOCKETS_ADDRESS = Budget(
    *("sockets_address", 500, 0, Per.ADDRESS, Store.PROCESS), "Sockets that are open."
)
HANDSHAKE = Budget(
    *("handshake", 600, 14_400, Per.ADDRESS, Store.PROCESS), "Sockets that are opened."
)
FRAME = Budget(*("frame", 30, 3600, Per.SOCKET, Store.PROCESS), "Frames sent to the site.")

# --- numbers ------------------------------------------------------------------------------------
MENTIONS = Budget(
    *("mentions", 10, 0, Per.TEXT, Store.NOWHERE),
    "People notified that a post or comment mentions them; further mentions are only links.",
)

TABLE: dict[str, Budget] = {
    one.name: one for one in list(globals().values()) if isinstance(one, Budget)
}


# --- the environment ----------------------------------------------------------------------------
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{1,9}(?:\.[0-9]{1,6})?)")


def read(environ: Mapping[str, str], *, lifted: bool = False) -> dict[str, Rate | None]:
    """Return the rate of every budget; None means no limit.

    `lifted` removes all limits except those of failed attempts. Raises BadBudgets.
    """
    found: dict[str, Rate | None] = {
        name: None if lifted and _is_lifted(row) else row.default for name, row in TABLE.items()
    }
    mistakes: dict[str, str] = {}
    for variable in sorted(name for name in environ if name.upper().startswith(PREFIX)):
        if not environ[variable]:
            continue
        row = TABLE.get(variable.removeprefix(PREFIX).lower())
        try:
            if row is None or row.variable != variable:
                raise ValueError("there is no such budget, see docs/abuse.md")
            found[row.name] = _rate(row, environ[variable].strip())
        except ValueError as error:
            mistakes[variable] = str(error)
    if mistakes:
        raise BadBudgets(mistakes)
    return found


def _is_lifted(row: Budget) -> bool:
    """Return whether `lifted` removes this budget; guessing and plain maximums stay limited."""
    return not isinstance(row, Guesses) and row.store is not Store.NOWHERE


class BadBudgets(Exception):
    """Environment variables with an invalid rate: name → what is wrong."""

    def __init__(self, mistakes: Mapping[str, str]) -> None:
        self.mistakes = mistakes
        super().__init__(str(mistakes))


def _rate(row: Budget, text: str) -> Rate | None:
    """Parse `capacity/hourly`, or the capacity alone for a row without refill."""
    if text == "0":
        return None
    if not row.hourly:
        if not (text.isascii() and text.isdigit() and 0 < int(text) <= CAPACITY_MAX):
            raise ValueError(f"must be a number from 1 to {CAPACITY_MAX}, or 0 for no limit")
        return Rate(int(text), 0)
    match = _RATE.fullmatch(text)
    rate = Rate(int(match[1]), float(match[2])) if match else Rate(0, 0)
    if not (0 < rate.capacity <= CAPACITY_MAX and 0 < rate.hourly <= HOURLY_MAX):
        raise ValueError("must be capacity/refilled an hour, such as 20/60, or 0 for no limit")
    return rate
