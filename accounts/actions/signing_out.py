"""Ending sign-ins by the person's own devices: log-out, one kicked, all others kicked."""

from accounts.actions.audit import Act, note
from accounts.actions.clients import live_rows
from accounts.actions.revocation import fenced, is_live, locked_batch, revoke_version
from accounts.models import TokenBatch, TokenVersion, User
from socialsite.core.errors import NotFound


@fenced
def log_out(user: User, client: str, version: int | None = None) -> bool:
    """End the sign-in of a client, access and refresh, by itself.

    With `version`, only a sign-in that is not newer than that. Returns whether one was ended.
    """
    row = _live(locked_batch(user), client)
    if row is None or (version is not None and row.version > version):
        return False
    revoke_version(row, "logout")
    return True


@fenced
def kick(user: User, client: str, *, by: str = "", address: str = "") -> None:
    """End the sign-in of another client of the same person; NotFound when there is none.

    `by` is what to call the client that does it.
    """
    row = _live(locked_batch(user), client)
    if row is None:
        raise NotFound
    revoke_version(row, "kicked", by)
    note(user, Act.KICK, "user", user.pk, {"clients": [client]}, address)


@fenced
def kick_others(user: User, client: str, *, by: str = "", address: str = "") -> int:
    """End every sign-in of a person but that of one client, whose tokens live on; returns how many.

    Device by device, as a revocation of the batch would take the tokens of that client too.
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
