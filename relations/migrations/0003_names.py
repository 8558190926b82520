"""Names of the models in the admin, translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("relations", "0002_count_check"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="relationcount",
            options={"verbose_name": "relation count", "verbose_name_plural": "relation counts"},
        ),
        migrations.AlterModelOptions(
            name="relationlog",
            options={"verbose_name": "relation log", "verbose_name_plural": "relation logs"},
        ),
        migrations.AlterModelOptions(
            name="relationship",
            options={"verbose_name": "relationship", "verbose_name_plural": "relationships"},
        ),
    ]
