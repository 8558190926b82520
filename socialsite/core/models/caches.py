"""The servers of a cache on several servers."""

from django.db import models
from django.utils.translation import gettext_lazy


class CacheServer(models.Model):
    """Whether the processes may read a server; see `core.redis.sharded.trust`."""

    class State(models.IntegerChoices):
        TRUSTED = 1, gettext_lazy("trusted")
        CLAIMED = 2, gettext_lazy("is being emptied")
        DISTRUSTED = 3, gettext_lazy("not trusted")

    # Redis' replication id: another one once a replica is the master, or a server started anew.
    replid = models.CharField(primary_key=True, max_length=40)
    state = models.PositiveSmallIntegerField(choices=State.choices)
    # Of the process that empties it.
    token = models.CharField(max_length=16, blank=True, default="")
    # By the database's clock.
    changed_ms = models.BigIntegerField()

    class Meta:
        verbose_name = gettext_lazy("server of the cache")
        verbose_name_plural = gettext_lazy("servers of the cache")

    def __str__(self) -> str:
        return f"{self.replid[:8]}: {self.get_state_display()}"
