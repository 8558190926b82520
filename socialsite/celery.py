"""The Celery application; tasks are found in every app's `tasks.py`."""

import os
from typing import Any

from celery import Celery, bootsteps
from celery.beat import EmbeddedService
from celery.signals import task_postrun, task_prerun, user_preload_options, worker_init
from django.db import close_old_connections
from kombu.transport.virtual import Channel

from socialsite.core.runtime import data_dir, memory

# When a connection is lost, Kombu sends messages that no task has begun back over it. It has no
# address then, and Celery takes the AttributeError for the end of the worker. A message is only a
# hint here; the sweeps find the work.
Channel.do_restore = False

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

app = Celery("socialsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# By default Celery closes the database connection before and after every task, and opening a new
# one takes longer than many tasks. Here only broken connections are closed, as between requests.
# The health check before the first query finds connections that the server closed.
app.conf.CELERY_DB_REUSE_MAX = 10**9


class Beat(bootsteps.StartStopStep):
    """The schedule as a thread of each worker; Celery's own option `-B` would start a process."""

    def create(self, worker: Any) -> Any:
        """Return the thread, which the worker starts."""
        scheduler = worker.app.conf.beat_scheduler
        return EmbeddedService(worker.app, thread=True, scheduler_cls=scheduler)

    def stop(self, worker: Any) -> None:
        """Ask the thread to end, without a wait for its pause."""
        self.obj.service.stop()


app.steps["worker"].add(Beat)


@task_prerun.connect
@task_postrun.connect
def _close_broken_connections(sender: Any, **_kwargs: object) -> None:
    # A task called in its caller's process may run inside the caller's transaction.
    if not sender.request.is_eager:
        close_old_connections()


@user_preload_options.connect
def _write_for_this_account_only(**_kwargs: object) -> None:
    """Set the umask; every Celery command sends this signal before it does anything else."""
    os.umask(data_dir.UMASK)


@worker_init.connect
def _bound_heaps(**_kwargs: object) -> None:
    memory.tune()
