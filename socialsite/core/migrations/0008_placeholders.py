from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0007_scheduledrun"),
    ]

    operations = [
        migrations.AddField(
            model_name="media",
            name="placeholder",
            field=models.CharField(blank=True, default="", max_length=40),
        ),
    ]
