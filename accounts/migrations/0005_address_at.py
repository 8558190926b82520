"""Adds the time when an IP address was stored, with an index for erasing old addresses."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_tokenbatch_forgotten"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="address_at",
            field=models.DateTimeField(blank=True, db_index=True, null=True),
        ),
        migrations.AddField(
            model_name="tokenversion",
            name="address_at",
            field=models.DateTimeField(blank=True, db_index=True, null=True),
        ),
    ]
