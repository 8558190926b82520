"""Give idempotency keys the id of what was made; the stored answers go in the next migration."""

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
