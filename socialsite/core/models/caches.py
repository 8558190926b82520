"""The servers of a cache on several servers."""

from django.db import models
from django.utils.translation import gettext_lazy


class CacheServer(models.Model):
    """Which slots of a server the processes may read; see `core.redis.sharded.trust`."""

    class State(models.IntegerChoices):
        TRUSTED = 1, gettext_lazy("trusted")
        CLAIMED = 2, gettext_lazy("is being emptied")
        DISTRUSTED = 3, gettext_lazy("not trusted")

    # Redis' replication id: another one once a replica is the master, or a server started anew.
    replid = models.CharField(primary_key=True, max_length=40)
    state = models.PositiveSmallIntegerField(choices=State.choices)
    # The slots of a cluster that may be read there, as ranges: "0-5460,7000". Empty: all keys.
    slots = models.TextField(blank=True, default="", db_default="")
    # Of the process that empties it, or some of its slots; and these slots.
    token = models.CharField(max_length=16, blank=True, default="")
    claimed = models.TextField(blank=True, default="", db_default="")
    # By the database's clock: when its state or its token changed, and when it last lost slots.
    changed_ms = models.BigIntegerField()
    lost_ms = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = gettext_lazy("server of the cache")
        verbose_name_plural = gettext_lazy("servers of the cache")

    def __str__(self) -> str:
        return f"{self.replid[:8]}: {self.get_state_display()}"
