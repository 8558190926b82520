"""Reads of push subscriptions."""

from collections.abc import Collection
from typing import TypedDict

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts import devices as device_names
from accounts.models import PushSubscription, TokenBatch, TokenVersion
from socialsite.core.times import iso


class PushDevice(TypedDict):
    """A device that receives pushes."""

    client: str
    name: str
    created_at: str
    current: bool


def any_of(user_id: int) -> bool:
    """Return whether a person has a device that may receive pushes."""
    return PushSubscription.objects.filter(user_id=user_id).exists()


def devices(user_id: int, client: str) -> list[PushDevice]:
    """Return the devices of a person that receive pushes; `client` is the requesting one."""
    agents = TokenVersion.objects.filter(user_id=user_id).values_list("client", "user_agent")
    rows = list(live(user_id).order_by("-pk"))
    names = dict(agents.filter(client__in=[row.client for row in rows])) if rows else {}
    return [
        PushDevice(
            client=row.client,
            name=device_names.name_of(row.client, names.get(row.client, "")),
            created_at=iso(int(row.created_at.timestamp() * 1000)),
            current=row.client == client,
        )
        for row in rows
    ]


def live(user_id: int, ids: Collection[int] | None = None) -> "QuerySet[PushSubscription]":
    """Return the subscriptions of sign-ins that have not ended, by the floors in the database.

    The transaction that ends a sign-in deletes its subscriptions as well. This check does not rely
    on that.
    """
    issued = int((timezone.now() - settings.REFRESH_LIFETIME).timestamp())
    sign_ins = TokenVersion.objects.filter(
        user_id=OuterRef("user_id"),
        client=OuterRef("client"),
        version=OuterRef("version"),
        refresh_floor__lt=OuterRef("version"),
        refresh_iat__gt=issued,
    ).exclude(refresh_jti="")
    batches = TokenBatch.objects.filter(pk=OuterRef("user_id"), refresh_floor__lt=OuterRef("batch"))
    rows = PushSubscription.objects.filter(
        Exists(sign_ins),
        Exists(batches),
        user_id=user_id,
        user__banned_at=None,
        user__deleted_at=None,
    )
    return rows if ids is None else rows.filter(pk__in=ids)
