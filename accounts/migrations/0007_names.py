"""Names of the models in the admin, translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_date_addresses"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="auditentry",
            options={"verbose_name": "audit entry", "verbose_name_plural": "audit entries"},
        ),
        migrations.AlterModelOptions(
            name="tokenbatch",
            options={"verbose_name": "token batch", "verbose_name_plural": "token batches"},
        ),
        migrations.AlterModelOptions(
            name="tokenversion",
            options={"verbose_name": "token version", "verbose_name_plural": "token versions"},
        ),
        migrations.AlterModelOptions(
            name="user",
            options={"verbose_name": "user", "verbose_name_plural": "users"},
        ),
    ]
