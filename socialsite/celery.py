"""The Celery application; tasks are found in every app's `tasks.py`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

app = Celery("socialsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
