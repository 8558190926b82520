"""Sets the time of existing IP addresses, so that they are erased too.

An entry of the audit trail has its own time. A device gets its `last_seen`, which is later than its
sign-in. Each range of ids is its own transaction: one over the whole table would block every
sign-in. An interrupted migration starts again.
"""

from typing import Any

from django.db import migrations
from django.db.models import F, Max, Min

STEP = 5000


def date(apps: Any, schema_editor: Any) -> None:
    """Set the time of addresses that have none."""
    for table, column in (("TokenVersion", "last_seen"), ("AuditEntry", "created_at")):
        rows = apps.get_model("accounts", table).objects
        ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
        if ends["last"] is None:
            continue
        for start in range(ends["first"], ends["last"] + 1, STEP):
            some = rows.filter(pk__gte=start, pk__lt=start + STEP, address_at=None)
            some.exclude(address="").update(address_at=F(column))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0005_address_at"),
    ]

    operations = [
        migrations.RunPython(date, migrations.RunPython.noop, elidable=True),
    ]
