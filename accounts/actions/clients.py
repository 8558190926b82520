"""Concurrent sign-ins of a person: which clients may coexist, and how a new one gets room.

- CLIENT_POLICY=type allows one sign-in for each kind of device. CLIENT_POLICY=device allows one for
  each device, LIVE_MAX at most. After a change of the policy, old sign-ins go on until the next
  sign-in of their kind or device ends them.
- The number of rows is bounded: beyond ROWS_MAX, rows of signed-out clients are deleted. A client
  chooses its own id and may return with an old one. Its new version is above every number of a
  deleted row (`TokenBatch.forgotten`), so old tokens stay dead, whatever the clock says.
- All functions here run under the lock of the person's TokenBatch row.
"""

from accounts import devices
from accounts.actions.revocation import is_live, next_version, revoke_version
from accounts.models import TokenBatch, TokenVersion
from socialsite.core.errors import BannedAccessToken

LIVE_MAX = 50
ROWS_MAX = 100


def live_rows(batch: TokenBatch) -> list[TokenVersion]:
    """Return the rows of the clients that are signed in."""
    return [row for row in rows_of(batch) if is_live(row, batch)]


def live_row(batch: TokenBatch, client: str, version: int | None = None) -> TokenVersion:
    """Return the row of a signed-in client. Raises BannedAccessToken when it is not signed in.

    With `version`, the row must be of that sign-in.
    """
    for row in live_rows(batch):
        if row.client == client and version in (None, row.version):
            return row
    raise BannedAccessToken


def rows_of(batch: TokenBatch) -> list[TokenVersion]:
    """Return the rows of a person's clients, the most recently seen last."""
    return list(TokenVersion.objects.filter(user=batch.user_id).order_by("last_seen", "pk"))


def end_replaced(batch: TokenBatch, rows: list[TokenVersion], client: str, *, by: str) -> None:
    """End the sign-ins that may not coexist with a new sign-in of `client`: the kick.

    `rows` are all rows of the person, and `by` is the display name of the new sign-in's device.
    """
    for row in rows:
        if is_live(row, batch) and _replaces(client, row.client):
            revoke_version(row, "login", by)
    live = [row for row in rows if is_live(row, batch)]
    for row in live[: max(0, len(live) - LIVE_MAX + 1)]:
        revoke_version(row, "limit", by)


def row_for(batch: TokenBatch, rows: list[TokenVersion], client: str) -> TokenVersion:
    """Return the row for a client's new sign-in, after `end_replaced`.

    If the row's previous sign-in was ended, its version was raised then, and the reason stays
    readable. If only the batch ended it, the version is raised here: with the same version, the old
    tokens would look like earlier copies of the new ones.
    """
    found = next((row for row in rows if row.client == client), None)
    if found is None:
        _delete_oldest(batch, rows)
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
    # A browser that reports another kind is still the same device.
    return devices.id_of(client) != "" and devices.id_of(client) == devices.id_of(other)


def _delete_oldest(batch: TokenBatch, rows: list[TokenVersion]) -> None:
    """Make room for one more row: delete the rows that have been signed out for longest."""
    surplus = max(0, len(rows) - ROWS_MAX + 1)
    gone = [row for row in rows if not is_live(row, batch)][:surplus]
    if gone:
        batch.forgotten = max(batch.forgotten, *(row.version for row in gone))
        batch.save(update_fields=["forgotten"])
        TokenVersion.objects.filter(pk__in=[row.pk for row in gone]).delete()
