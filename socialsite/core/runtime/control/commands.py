"""Where each management command runs while the embedded site runs.

A test demands an entry for every command of every installed app.
"""

from collections.abc import Sequence
from enum import Enum


class Place(Enum):
    """Where a command runs while the site runs."""

    SITE = "inside the process of the site"
    OWN = "in its own process, as it touches neither the data of the site nor its Redis"
    NOWHERE = "not at all; the site must be stopped"


_SITE = (
    "add_placeholders",
    "addstatictoken",
    "changepassword",
    "createsuperuser",
    "doctor",
    "explain_feed",
    "fanout",
    "move_media",
    "promote",
    "rebuild_inboxes",
    "rebuild_search",
    "rebuild_tags",
    "recount",
    "recount_interactions",
    "reset_second_factor",
    "verify_erased",
    "verify_feeds",
)
# These only read the tables, the settings or the sources, or write files outside of the site's.
# `serve` takes the lock itself.
_OWN = (
    "check",
    "check_settings",
    "collectstatic",
    "compilemessages",
    "diffsettings",
    "dumpdata",
    "findstatic",
    "follow_events",
    "generateschema",
    "help",
    "inspectdb",
    "make_key",
    "makemessages",
    "makemigrations",
    "metrics_token",
    "optimizemigration",
    "sendtestemail",
    "serve",
    "showmigrations",
    "spectacular",
    "sqlflush",
    "sqlmigrate",
    "sqlsequencereset",
    "squashmigrations",
    "startapp",
    "startproject",
    "test",
    "version",
)
_TABLES = "it changes tables that the site uses"
_PAST_CACHES = "it writes rows without the caches of the site"
_SECOND_SITE = "it would be a second site on the same data"
# Commands that cannot run beside the site, and the reason.
REASONS = {
    "createcachetable": _TABLES,
    "dbshell": _PAST_CACHES,
    "demo": "the site fills itself with demo data when it starts with DEMO=1",
    "end_sign_ins": "it is a step of a restoration, before the site starts",
    "flush": _TABLES,
    "loaddata": _PAST_CACHES,
    "migrate": f"{_TABLES}; the site migrates when it starts",
    "remove_stale_contenttypes": _TABLES,
    "runserver": _SECOND_SITE,
    "runworker": "the site has its own worker",
    "shell": "its Python would have a Redis of its own",
    "testserver": _SECOND_SITE,
}
PLACES = (
    dict.fromkeys(_SITE, Place.SITE)
    | dict.fromkeys(_OWN, Place.OWN)
    | dict.fromkeys(REASONS, Place.NOWHERE)
)
# Commands of SITE that change nothing: without a site they need no lock.
READ_ONLY = frozenset(("explain_feed", "fanout"))


def place(argv: Sequence[str]) -> Place:
    """Return where a command line runs. A site answers for names that are unknown here."""
    if len(argv) < 2 or argv[1].startswith("-") or {"-h", "--help"}.intersection(argv):
        return Place.OWN
    return PLACES.get(argv[1], Place.SITE)


def refusal(name: str) -> str:
    """Return the sentence for a command that cannot run beside the site."""
    reason = REASONS.get(name, "nobody has decided whether it can")
    return f"{name} does not run beside a running site: {reason}."
