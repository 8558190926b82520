"""The replicas of the database: whether they answer, take no writes, and apply the log."""

from collections.abc import Iterator

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error
from django.utils.translation import gettext as _

from socialsite.core.db import replicas
from socialsite.core.runtime.redaction import redact
from socialsite.doctor.findings import Finding, error, ok, warning

# How long a replica may take to apply what the primary has written.
PATIENCE_SECONDS = 3.0
# No two sites have an id in common.
FIRST_PERSON = "SELECT MIN(id) FROM accounts_user"


def applied() -> Iterator[Finding]:
    """Whether each replica has what the primary has, and refuses writes."""
    if not settings.REPLICAS:
        yield ok(_("There are no replicas: the database answers all reads."))
        return
    try:
        position = replicas.value(DEFAULT_DB_ALIAS, replicas.PRIMARY_POSITION)
    except Error as reason:
        yield error(
            _("The primary has no position in its log: %(reason)s")
            % {"reason": redact(str(reason))},
            _("Replicas need MariaDB. Remove REPLICA_URLS: the primary answers all reads now."),
        )
        return
    if not position:
        yield error(
            _("The log of the primary is empty, so no replica can be compared with it."),
            _(
                "Set log_bin in the configuration of the primary, and let the replicas begin with a"
                " copy that is made afterwards."
            ),
        )
        return
    for alias in settings.REPLICAS:
        yield from _one(alias, position)


def _one(alias: str, position: str) -> Iterator[Finding]:
    names = {"alias": alias}
    try:
        is_read_only = replicas.value(alias, "SELECT @@global.read_only")
        waited = replicas.value(alias, replicas.WAIT, position, PATIENCE_SECONDS)
        first = replicas.value(alias, FIRST_PERSON)
    except Error as reason:
        yield error(
            _("%(alias)s does not answer: %(reason)s") % {**names, "reason": redact(str(reason))},
            _("Start it, or correct REPLICA_URLS: the primary answers its reads now."),
        )
        return
    if not is_read_only:
        yield warning(
            _("%(alias)s takes writes.") % names,
            _("Set read_only=1 in its configuration: what is written there is nowhere else."),
        )
    if waited == 0 and first != replicas.value(DEFAULT_DB_ALIAS, FIRST_PERSON):
        yield error(
            _("%(alias)s is a replica of another site.") % names,
            _("Correct REPLICA_URLS: searches lack what is not there."),
        )
    elif waited != 0:
        yield error(
            _("%(alias)s is more than %(seconds)d seconds behind the primary.")
            % {**names, "seconds": PATIENCE_SECONDS},
            _("Look at SHOW ALL SLAVES STATUS there: the primary answers its reads now."),
        )
    elif is_read_only:
        yield ok(_("%(alias)s has everything that the primary has.") % names)
