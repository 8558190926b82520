"""Store the id of the created object with each idempotency key.

The next migration removes the stored responses.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0003_allowance"),
    ]

    operations = [
        migrations.AddField(
            model_name="idempotencykey",
            name="made_id",
            field=models.BigIntegerField(default=0),
        ),
    ]
