from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_attempts_and_email"),
    ]

    operations = [
        migrations.AddField(
            model_name="tokenbatch",
            name="forgotten",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
