from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("interactions", "0012_comments_of_a_person")]

    operations = [
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(fields=["user", "kind", "position", "id"], name="ix_notified_kind"),
        ),
    ]
