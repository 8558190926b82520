"""The Celery application; tasks are found in every app's `tasks.py`."""

import os
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun, user_preload_options
from django.db import close_old_connections
from kombu.transport.virtual import Channel

from socialsite.core import data_dir

# When a connection is lost, Kombu would send messages that no task had begun back over it, which by
# then has no address: an AttributeError that Celery takes for the end of the worker. A message is
# only a hint here, the sweepers find the work.
Channel.do_restore = False

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

app = Celery("socialsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Celery closes the database connection before and after every task, and a new one takes longer than
# many a task. As between requests, only those are closed that are broken; what the server closed
# meanwhile is found by the health check before the first query.
app.conf.CELERY_DB_REUSE_MAX = 10**9


@task_prerun.connect
@task_postrun.connect
def _close_broken_connections(sender: Any, **_kwargs: object) -> None:
    # A task that is called in a process of its caller may stand in the caller's transaction.
    if not sender.request.is_eager:
        close_old_connections()


@user_preload_options.connect
def _write_for_this_account_only(**_kwargs: object) -> None:
    """Every command of Celery sends the signal before it does anything else."""
    os.umask(data_dir.UMASK)
