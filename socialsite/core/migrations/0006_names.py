"""Names of the models in the admin, translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0005_idempotency_bodies"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="event",
            options={"verbose_name": "event", "verbose_name_plural": "events"},
        ),
    ]
