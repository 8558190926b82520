"""Which sign-ins of a person may stand beside each other, and making room for a new one.

- With CLIENT_POLICY=type there is one sign-in of each kind of device, with device one of each
  device, LIVE_MAX at most. Sign-ins from before a change of the policy live on; the next one of
  their kind, or device, ends them.
- Rows do not grow without bound: beyond ROWS_MAX the rows of clients that are signed out are
  deleted. A client chooses its own id and may come back with an old one. What it is given then lies
  above every number of a deleted row (`TokenBatch.forgotten`), so old tokens stay dead without any
  look at the clock.
- Everything here happens under the lock of the person's batch.
"""

from accounts import devices
from accounts.actions.revocation import is_live, next_version, revoke_version
from accounts.models import TokenBatch, TokenVersion
from socialsite.core.errors import BannedAccessToken

LIVE_MAX = 50
ROWS_MAX = 100


def live_rows(batch: TokenBatch) -> list[TokenVersion]:
    """Return the rows of the clients that are signed in."""
    return [row for row in _rows(batch) if is_live(row, batch)]


def live_row(batch: TokenBatch, client: str, version: int | None = None) -> TokenVersion:
    """Return the row of a client that is signed in; BannedAccessToken when it is not (any more).

    With `version`, only of that sign-in.
    """
    for row in live_rows(batch):
        if row.client == client and version in (None, row.version):
            return row
    raise BannedAccessToken


def take_place(batch: TokenBatch, client: str, by: str) -> TokenVersion:
    """Return the row that a client signs in with, after ending what may not stand beside it.

    Where the sign-in before was ended the number is a new one already, and why it ended stays
    readable. Where only the batch ended it, it is not: with the same number the old tokens would
    look like copies of the new ones from before they were renewed.
    """
    rows = _rows(batch)
    for row in rows:
        if is_live(row, batch) and _replaces(client, row.client):
            revoke_version(row, "login", by)
    _keep_to_the_limit(batch, rows, by)
    found = next((row for row in rows if row.client == client), None)
    if found is None:
        _forget(batch, rows)
        floor = batch.forgotten
        found = TokenVersion(user_id=batch.user_id, client=client, version=floor + 1)
        found.access_floor = found.refresh_floor = floor
    elif found.refresh_jti:
        next_version(found)
    return found


def _replaces(client: str, other: str) -> bool:
    if client == other:
        return True
    if not devices.per_device():
        return devices.kind_of(client) == devices.kind_of(other)
    # A browser that shows itself as another kind is still the same device.
    return devices.id_of(client) != "" and devices.id_of(client) == devices.id_of(other)


def _keep_to_the_limit(batch: TokenBatch, rows: list[TokenVersion], by: str) -> None:
    """Make room for one more sign-in: end those that were not seen for longest."""
    live = [row for row in rows if is_live(row, batch)]
    for row in live[: max(0, len(live) - LIVE_MAX + 1)]:
        revoke_version(row, "limit", by)


def _forget(batch: TokenBatch, rows: list[TokenVersion]) -> None:
    """Make room for one more row: delete those of the clients that are signed out for longest."""
    surplus = max(0, len(rows) - ROWS_MAX + 1)
    gone = [row for row in rows if not is_live(row, batch)][:surplus]
    if gone:
        batch.forgotten = max(batch.forgotten, *(row.version for row in gone))
        batch.save(update_fields=["forgotten"])
        TokenVersion.objects.filter(pk__in=[row.pk for row in gone]).delete()


def _rows(batch: TokenBatch) -> list[TokenVersion]:
    """Return the rows of a person's clients, those seen last at the end."""
    return list(TokenVersion.objects.filter(user=batch.user_id).order_by("last_seen", "pk"))
