"""Drop the responses that idempotency keys stored: they kept texts that were deleted elsewhere.

Each stored response contains the id of the created object, so a retry across this update still
creates nothing twice. May be interrupted and run again.
"""

from typing import Any

from django.db import migrations

BATCH = 500
MAX_ID = 2**63 - 1


def keep_ids(apps: Any, schema_editor: Any) -> None:
    keys = apps.get_model("core", "IdempotencyKey").objects
    last = 0
    while batch := list(keys.filter(pk__gt=last).order_by("pk")[:BATCH]):
        for row in batch:
            row.made_id = id_in(row.body)
        keys.bulk_update(batch, ["made_id"])
        last = batch[-1].pk


def id_in(body: Any) -> int:
    text = str(body.get("id", "")) if isinstance(body, dict) else ""
    is_id = text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_ID
    return int(text) if is_id else 0


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_idempotency_made_id"),
    ]

    operations = [
        migrations.RunPython(keep_ids, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name="idempotencykey", name="body"),
    ]
