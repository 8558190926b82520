"""Names of the models in the admin, translated."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("interactions", "0009_count_changes"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="case",
            options={"verbose_name": "case", "verbose_name_plural": "cases"},
        ),
        migrations.AlterModelOptions(
            name="comment",
            options={"verbose_name": "comment", "verbose_name_plural": "comments"},
        ),
        migrations.AlterModelOptions(
            name="like",
            options={"verbose_name": "like", "verbose_name_plural": "likes"},
        ),
        migrations.AlterModelOptions(
            name="notification",
            options={"verbose_name": "notification", "verbose_name_plural": "notifications"},
        ),
        migrations.AlterModelOptions(
            name="notificationcause",
            options={
                "verbose_name": "notification cause",
                "verbose_name_plural": "notification causes",
            },
        ),
        migrations.AlterModelOptions(
            name="subject",
            options={"verbose_name": "subject", "verbose_name_plural": "subjects"},
        ),
    ]
