from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0024_cache_servers"),
    ]

    operations = [
        migrations.AddField(
            model_name="cacheserver",
            name="slots",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="cacheserver",
            name="claimed",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="cacheserver",
            name="lost_ms",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
