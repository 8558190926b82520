from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("feeds", "0005_reposted_index"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(model_name="post", name="ix_newest"),
        migrations.AddIndex(
            model_name="post",
            index=models.Index(fields=["position", "id", "author", "is_deleted"], name="ix_newest"),
        ),
    ]
