"""The worker of queues in RabbitMQ that have copies.

Celery would declare queues for tasks of a later time at every start, on each server in turn, and
wait for those that are away. No task of the site has a time.
"""

from typing import Any

from celery.worker import consumer

_Blueprint: Any = consumer.Consumer.Blueprint
_DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class Consumer(consumer.Consumer):
    """Celery's consumer without delayed tasks."""

    class Blueprint(_Blueprint):
        """The steps of its start."""

        default_steps = tuple(step for step in _Blueprint.default_steps if step != _DELAYED)
