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

from collections.abc import Mapping

from socialsite.core.rate_limits.budget import MINUTE, PREFIX, Budget, Guesses, Per, Rate, Store

# --- counted in the database --------------------------------------------------------------------
SIGN_UP = Budget(
    "sign_up",
    "Accounts created. A refused sign-up counts as sign_up_refused instead.",
    capacity=20,
    hourly=60,
    per=Per.ADDRESS,
    store=Store.DATABASE,
)
SIGN_UP_NETWORK = Budget(
    "sign_up_network",
    "Accounts created from one network.",
    capacity=100,
    hourly=300,
    per=Per.NETWORK,
    store=Store.DATABASE,
)
# Both are used once: a token flows back after they have expired (`accounts.sign_in.challenge`,
# `accounts.credentials.passkey_challenges`).
CHALLENGE = Budget(
    "challenge",
    "Accounts created with one solution of the task at sign-up; uses of one passkey challenge.",
    capacity=1,
    hourly=1,
    per=Per.SOLUTION,
    store=Store.DATABASE,
)
MAIL_ASKER = Budget(
    "mail_asker",
    "Mails requested, sent or not: links that confirm an address or set a new password.",
    capacity=20,
    hourly=30,
    per=Per.ASKER,
    store=Store.DATABASE,
)
MAIL_NETWORK = Budget(
    "mail_network",
    "The same mails, requested from one network.",
    capacity=60,
    hourly=120,
    per=Per.NETWORK,
    store=Store.DATABASE,
)
MAIL_RECIPIENT = Budget(
    "mail_recipient",
    "Mails of one kind that somebody requested; further mails are not sent.",
    capacity=3,
    hourly=4,
    per=Per.LINKS,
    store=Store.DATABASE,
)
MAIL_MAILBOX = Budget(
    "mail_mailbox",
    "The same mails for all accounts together; further mails are not sent.",
    capacity=10,
    hourly=10,
    per=Per.RECIPIENT,
    store=Store.DATABASE,
)
MAIL_SITE = Budget(
    "mail_site",
    "Mails that somebody requested; further mails are sent later.",
    capacity=300,
    hourly=600,
    per=Per.SITE,
    store=Store.DATABASE,
)
NOTICE = Budget(
    "notice",
    "Notices of one kind about one account: a sign-up, password, address or second factor.",
    capacity=5,
    hourly=10,
    per=Per.RECIPIENT,
    store=Store.DATABASE,
)
NOTICE_SITE = Budget(
    "notice_site",
    "Notices of sign-ups, passwords, addresses, second factors; further ones are sent later.",
    capacity=1000,
    hourly=2000,
    per=Per.SITE,
    store=Store.DATABASE,
)
INTROSPECT_REFUSED = Budget(
    "introspect_refused",
    "Introspections without a valid service key.",
    capacity=20,
    hourly=60,
    per=Per.ADDRESS,
    store=Store.DATABASE,
)

# --- failed attempts, counted in the database ---------------------------------------------------
# Waits per address and per account are a minute at most: many people may share an address (all of
# them behind a proxy that TRUSTED_PROXIES does not list), and an account is the victim of guessing,
# not the attacker. A success resets the first two budgets.
QUARTER = 15 * MINUTE
LOGIN_HERE = Guesses(
    "login_here",
    "Wrong passwords.",
    capacity=5,
    hourly=5,
    per=Per.HERE,
    cap=QUARTER,
    idle=True,
)
LOGIN_DEVICE = Guesses(
    "login_device",
    "Wrong passwords from a browser that signed in to the account before.",
    capacity=5,
    hourly=5,
    per=Per.DEVICE,
    cap=QUARTER,
    idle=True,
)
LOGIN_ADDRESS = Guesses(
    "login_address",
    "Wrong passwords of strangers.",
    capacity=50,
    hourly=50,
    per=Per.ADDRESS,
)
LOGIN_ACCOUNT = Guesses(
    "login_account",
    "Wrong passwords of strangers.",
    capacity=100,
    hourly=100 / 24,
    per=Per.ACCOUNT,
)
# Codes are short, but only somebody who knows the password can try one.
CODE_HERE = Guesses(
    "code_here",
    "Wrong codes.",
    capacity=5,
    hourly=5,
    per=Per.HERE,
    cap=QUARTER,
    idle=True,
)
CODE_DEVICE = Guesses(
    "code_device",
    "Wrong codes from a browser that signed in to the account before.",
    capacity=5,
    hourly=5,
    per=Per.DEVICE,
    cap=QUARTER,
    idle=True,
)
CODE_ACCOUNT = Guesses(
    "code_account",
    "Wrong codes of strangers.",
    capacity=10,
    hourly=10 / 24,
    per=Per.ACCOUNT,
    cap=QUARTER,
)
# Password and codes of a user who is already signed in. Only the thief of an open session would
# guess codes here, so a success resets nothing.
PASSWORD = Guesses(
    "password",
    "Wrong passwords of somebody who is signed in.",
    capacity=5,
    hourly=5,
    cap=QUARTER,
    idle=True,
)
OWN_CODE = Guesses(
    "own_code",
    "Wrong codes of somebody who is signed in.",
    capacity=5,
    hourly=5 / 24,
    cap=QUARTER,
)
SIGN_UP_REFUSED = Guesses(
    "sign_up_refused",
    "Sign-ups with a taken name, or against the rules.",
    capacity=50,
    hourly=50,
    per=Per.ADDRESS,
)

# --- writes, counted in Redis -------------------------------------------------------------------
# Posts and reposts: each is delivered to all followers.
PUBLISH = Budget("publish", "Posts and reposts.", capacity=60, hourly=120)
# Each edit is stored as a version, and read again by everybody who has the text in a cache.
EDIT = Budget("edit", "Edits of posts and comments.", capacity=60, hourly=240)
DRAFT = Budget(
    "draft",
    "Drafts saved and deleted; one with a time also takes from `publish`.",
    capacity=120,
    hourly=1200,
)
COMMENT = Budget("comment", "Comments and replies.", capacity=60, hourly=720)
# Actions that can be done and undone without end cost the same both ways (T27).
MARK = Budget(
    "mark",
    "Likes, votes, bookmarks, pins, comment settings, undone reposts, dismissed announcements.",
    capacity=300,
    hourly=10_800,
)
# People have to read the reports.
REPORT = Budget("report", "Reports.", capacity=20, hourly=20)
DELETE = Budget("delete", "Posts and comments deleted.", capacity=300, hourly=3600)
# One bucket for follow and unfollow: alternating them would cost unlimited backfills (T27).
FOLLOW = Budget("follow", "Follows and unfollows, also of tags.", capacity=100, hourly=3600)
BLOCK = Budget("block", "Blocks and unblocks.", capacity=60, hourly=600)
UPLOAD = Budget("upload", "Pictures uploaded.", capacity=60, hourly=300)
# Each is converted, which takes minutes of a processor.
VIDEO = Budget("video", "Videos uploaded.", capacity=10, hourly=20)
VIDEO_PART = Budget("video_part", "Parts of videos uploaded.", capacity=120, hourly=1200)
PROFILE = Budget("profile", "Changes of one's profile.", capacity=30, hourly=60)
NOTIFICATION = Budget(
    "notification",
    "Notifications marked as read, and changes of notification settings.",
    capacity=300,
    hourly=3600,
)
PUSH = Budget("push", "Devices that turn pushes on or off.", capacity=12, hourly=60)
PUSH_SENT = Budget(
    "push_sent",
    "Pushes sent to the devices of a person; further pushes are not sent.",
    capacity=120,
    hourly=360,
)
ACCOUNT = Budget(
    "account",
    "Changes of one's password, e-mail address and second factor; consent to terms; closing.",
    capacity=30,
    hourly=60,
)
APPEAL = Budget("appeal", "Objections to decisions of staff.", capacity=10, hourly=20)
EXPORT = Budget("export", "Archives of one's own data.", capacity=3, hourly=1)
EXPORT_FILE = Budget("export_file", "Fetches of an archive, also of parts.", capacity=60, hourly=60)
IMPORT = Budget("import", "Imports: uploads, starts and undos.", capacity=20, hourly=20)
INVITE = Budget("invite", "Invitations made and ended.", capacity=30, hourly=60)
DEVICES = Budget("devices", "List of devices, and sign-outs of them.", capacity=120, hourly=1200)
LOGIN = Budget("login", "Log-ins, right or wrong.", capacity=200, hourly=2000, per=Per.ADDRESS)
REFRESH = Budget("refresh", "New access tokens.", capacity=60, hourly=600)
LINK = Budget("link", "Links from mails that are opened.", capacity=60, hourly=300, per=Per.ADDRESS)
WS_TICKET = Budget("ws_ticket", "Tickets for sockets.", capacity=60, hourly=600)
LANGUAGE = Budget(
    "language",
    "Changes of the language and of what is unfolded.",
    capacity=60,
    hourly=600,
    per=Per.ADDRESS,
)
STAFF = Budget("staff", "Forms sent in the admin.", capacity=600, hourly=7200)

# --- reads, counted in Redis: no human reader reaches these limits ------------------------------
READ = Budget(
    "read",
    "Pages and lists, except the first page of one's home feed.",
    capacity=3000,
    hourly=36_000,
)
DEEP_READ = Budget(
    "deep_read",
    "Pages of lists and feeds after the first one.",
    capacity=600,
    hourly=7200,
    deep=True,
)
GUEST_READ = Budget(
    "guest_read", "Pages and lists read by guests.", capacity=3000, hourly=72_000, per=Per.GUEST
)
SEARCH = Budget(
    "search", "Searches for posts, people and tags.", capacity=300, hourly=3600, per=Per.VISITOR
)
COMPLETION = Budget(
    "completion",
    "Names, tags and emoji suggested while a text is written.",
    capacity=600,
    hourly=14_400,
)
# Each renders a text of any length.
PREVIEW = Budget("preview", "Previews of articles.", capacity=120, hourly=1200)
RELATION_READ = Budget(
    "relation_read", "Lists of people, and states of relations.", capacity=600, hourly=14_400
)
POLL = Budget(
    "poll",
    "Reads of notifications, and counts of new posts and notifications.",
    capacity=600,
    hourly=14_400,
)
SCHEMA = Budget(
    "schema", "The OpenAPI document and its page.", capacity=60, hourly=1200, per=Per.ADDRESS
)
INTROSPECT = Budget(
    "introspect", "Introspections by services.", capacity=6000, hourly=360_000, per=Per.SERVICE
)

# --- requests to other sites, counted in Redis ---------------------------------------------------
PREVIEW_HOST = Budget(
    "preview_host",
    "Pages read for previews of links; further pages are read later.",
    capacity=30,
    hourly=240,
    per=Per.HOST,
)

# --- sockets, counted in each process -----------------------------------------------------------
SOCKETS = Budget("sockets", "Sockets that are open.", capacity=20, hourly=0, store=Store.PROCESS)
SOCKETS_ADDRESS = Budget(
    "sockets_address",
    "Sockets that are open.",
    capacity=500,
    hourly=0,
    per=Per.ADDRESS,
    store=Store.PROCESS,
)
HANDSHAKE = Budget(
    "handshake",
    "Sockets that are opened.",
    capacity=600,
    hourly=14_400,
    per=Per.ADDRESS,
    store=Store.PROCESS,
)
FRAME = Budget(
    "frame",
    "Frames sent to the site.",
    capacity=30,
    hourly=3600,
    per=Per.SOCKET,
    store=Store.PROCESS,
)

# --- numbers ------------------------------------------------------------------------------------
MENTIONS = Budget(
    "mentions",
    "People notified that a post or comment mentions them; further mentions are only links.",
    capacity=10,
    hourly=0,
    per=Per.TEXT,
    store=Store.NOWHERE,
)

TABLE: dict[str, Budget] = {
    one.name: one for one in list(globals().values()) if isinstance(one, Budget)
}


# --- the environment ----------------------------------------------------------------------------


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
            found[row.name] = row.read(environ[variable].strip())
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
