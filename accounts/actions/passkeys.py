"""Passkeys of a person: adding, renaming, removing, and counting their signatures.

- Adding and removing run under the lock of the person's tokens, like log-ins. A log-in by a passkey
  that is removed at the same time fails, or came before.
- Neither signs out other devices. A new passkey says nothing about who knows the password.
- Both, and a refused copy, are reported to the account's e-mail address. A new name is recorded in
  the audit trail only.
"""

import logging

from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actions.clients import live_row
from accounts.actions.mails import write_of
from accounts.actions.revocation import locked_batch
from accounts.audit import Act, note
from accounts.credentials import passkeys
from accounts.credentials.passkeys import New, Used
from accounts.models import Passkey, User
from socialsite.core import db
from socialsite.core.errors import InvalidInput, NotFound, PasskeyRefused, QuotaExceeded

logger = logging.getLogger(__name__)


def add_passkey(
    user: User,
    client: str,
    new: New,
    name: str,
    *,
    version: int | None = None,
    address: str = "",
) -> Passkey:
    """Add a checked passkey from a signed-in client, whose token has this `version`.

    Raises BannedAccessToken if the client was signed out in the meantime, QuotaExceeded beyond
    `passkeys.MAX`, and InvalidInput for a passkey that some account has.
    """
    try:
        return _add(user, client, new, name, version, address)
    except IntegrityError:
        raise InvalidInput(_("This passkey is in use already.")) from None


@db.atomic
def _add(
    user: User, client: str, new: New, name: str, version: int | None, address: str
) -> Passkey:
    live_row(locked_batch(user), client, version)
    if passkeys.number_of(user) >= passkeys.MAX:
        raise QuotaExceeded(_("You can have %(limit)s passkeys.") % {"limit": passkeys.MAX})
    row = Passkey.objects.create(
        user_id=user.pk,
        credential_id=new.credential_id,
        credential_hash=passkeys.hash_of(new.credential_id),
        public_key=new.public_key,
        sign_count=new.sign_count,
        backed_up=new.backed_up,
        transports=new.transports,
        name=name[: Passkey.NAME_MAX],
    )
    note(user, Act.PASSKEY_ADD, "user", user.pk, address=address)
    write_of(Act.PASSKEY_ADD, user)
    return row


@db.atomic
def rename_passkey(user: User, passkey_id: int, name: str, address: str = "") -> Passkey:
    """Give a passkey of the person another name. Raises NotFound."""
    locked_batch(user)
    row = Passkey.objects.filter(pk=passkey_id, user=user.pk).first()
    if row is None:
        raise NotFound
    if row.name != name:
        row.name = name
        row.save(update_fields=["name"])
        note(user, Act.PASSKEY_NAME, "user", user.pk, address=address)
    return row


@db.atomic
def remove_passkey(user: User, passkey_id: int, address: str = "") -> None:
    """Remove a passkey of the person. Raises NotFound."""
    locked_batch(user)
    if not Passkey.objects.filter(pk=passkey_id, user=user.pk).delete()[0]:
        raise NotFound
    note(user, Act.PASSKEY_REMOVE, "user", user.pk, address=address)
    write_of(Act.PASSKEY_REMOVE, user)


def use_passkey(used: Used, address: str = "") -> None:
    """Store the new count of signatures. Raises PasskeyRefused if it is not above the last one.

    Then another device has a copy of the passkey. Its person and the audit trail learn of it.
    """
    if not _count(used, address):
        raise PasskeyRefused


@db.atomic
def _count(used: Used, address: str) -> bool:
    row = Passkey.objects.select_for_update().filter(pk=used.passkey.pk).first()
    if row is None:
        return False
    counts = used.sign_count or row.sign_count
    if counts and used.sign_count <= row.sign_count:
        logger.warning("passkey %s: its count went back; log-in refused", row.pk)
        note(row.user, Act.PASSKEY_COPY, "user", row.user_id, address=address)
        write_of(Act.PASSKEY_COPY, row.user)
        return False
    row.sign_count, row.backed_up = used.sign_count, used.backed_up
    row.last_used = timezone.now()
    row.save(update_fields=["sign_count", "backed_up", "last_used"])
    return True
