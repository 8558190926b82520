"""Ending sign-ins from the person's own devices: log out, sign out one device, or all others."""

from accounts.actions.clients import live_rows
from accounts.actions.revocation import fenced, is_live, locked_batch, revoke_version
from accounts.audit import Act, note
from accounts.models import TokenBatch, TokenVersion, User
from socialsite.core.errors import NotFound


@fenced
def log_out(user: User, client: str, version: int | None = None) -> bool:
    """End the sign-in of a client, access and refresh tokens, at its own request.

    With `version`, end it only if it is not newer. Returns whether a sign-in was ended.
    """
    row = _live(locked_batch(user), client)
    if row is None or (version is not None and row.version > version):
        return False
    revoke_version(row, "logout")
    return True


@fenced
def kick(user: User, client: str, *, by: str = "", address: str = "") -> None:
    """End the sign-in of another client of the same person. Raises NotFound when there is none.

    `by` is the name of the device that does it.
    """
    row = _live(locked_batch(user), client)
    if row is None:
        raise NotFound
    revoke_version(row, "kicked", by)
    note(user, Act.KICK, "user", user.pk, {"clients": [client]}, address)


@fenced
def kick_others(user: User, client: str, *, by: str = "", address: str = "") -> int:
    """End every sign-in of a person except that of `client`. Returns their number.

    Revokes client by client, since a revocation of the batch would end that client's tokens too.
    """
    others = [row for row in live_rows(locked_batch(user)) if row.client != client]
    for row in others:
        revoke_version(row, "kicked", by)
    if others:
        clients = [row.client for row in others]
        note(user, Act.KICK, "user", user.pk, {"clients": clients}, address)
    return len(others)


def _live(batch: TokenBatch, client: str) -> TokenVersion | None:
    row = TokenVersion.objects.filter(user=batch.user_id, client=client).first()
    return row if row is not None and is_live(row, batch) else None
