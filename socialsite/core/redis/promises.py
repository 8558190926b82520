"""The values that a batch reads."""

from typing import Generic, TypeVar, cast

from socialsite.core.redis.circuit_breaker import RedisDown

T = TypeVar("T")


class Promise(Generic[T]):
    """The value of one read of a Batch, available after the batch has run."""

    __slots__ = ("_ready", "_value")

    def __init__(self) -> None:
        self._ready = False
        self._value: T | None = None

    def set(self, value: T) -> None:
        """Store the value."""
        self._value, self._ready = value, True

    @property
    def value(self) -> T:
        """The value; RedisDown when the batch did not get it."""
        if not self._ready:
            raise RedisDown("no answer")
        return cast("T", self._value)

    @property
    def known(self) -> T | None:
        """The value; None when the batch did not get it."""
        return self._value
