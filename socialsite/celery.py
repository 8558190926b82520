"""The Celery application; tasks are found in every app's `tasks.py`."""

import os
from typing import Any

from celery import Celery, bootsteps
from celery.app import amqp
from celery.beat import EmbeddedService
from celery.signals import task_postrun, task_prerun, user_preload_options, worker_init
from django.db import close_old_connections
from kombu import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.virtual import Channel

from socialsite.core.runtime import broker_settings, data_dir, memory

# When a connection is lost, Kombu sends messages that no task has begun back over it. It has no
# address then, and Celery takes the AttributeError for the end of the worker. A message is only a
# hint here; the sweeps find the work.
Channel.do_restore = False
# By name, as a list of servers gives the name again at each change to another one.
TRANSPORT_ALIASES["amqp"] = "socialsite.core.events.amqp_transport:Transport"
TRANSPORT_ALIASES["amqps"] = "socialsite.core.events.amqp_transport:SSLTransport"
TRANSPORT_ALIASES["sentinel"] = "socialsite.core.events.sentinel_transport:Transport"

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")


class Queues(amqp.Queues):
    """Queues by the names that the site and the option `-Q` of a worker give them.

    In RabbitMQ a queue with copies has a name and an exchange of its own.
    """

    create_missing_queue_type: str

    def new_missing(self, name: str) -> Queue:
        """Return a queue that is not there yet."""
        if self.create_missing_queue_type != "quorum":
            return super().new_missing(name)
        own = broker_settings.queue_name(name, quorum=True)
        arguments = {"x-queue-type": "quorum"}
        return Queue(own, Exchange(own), own, queue_arguments=arguments, alias=name)


class AMQP(amqp.AMQP):
    """Celery's messages, with the site's names of queues."""

    queues_cls = Queues


app = Celery("socialsite", amqp=AMQP)
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
