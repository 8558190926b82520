"""What a reader sees without asking, kept with the account."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add two columns, at once and without a copy of the table."""

    dependencies = [("accounts", "0002_comparable_addresses_and_names")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="show_sensitive",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="unfold_notes",
            field=models.BooleanField(blank=True, null=True),
        ),
    ]
