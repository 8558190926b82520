"""The Celery application; tasks are found in every app's `tasks.py`."""

import os

from celery import Celery
from kombu.transport.virtual import Channel

# When a connection is lost, Kombu would send messages that no task had begun back over it, which by
# then has no address: an AttributeError that Celery takes for the end of the worker. A message is
# only a hint here, the sweepers find the work.
Channel.do_restore = False

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

app = Celery("socialsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
