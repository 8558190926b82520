from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("interactions", "0015_polls")]

    operations = [
        migrations.AddField(
            model_name="notificationreader",
            name="not_pushed",
            field=models.JSONField(default=list),
        ),
    ]
