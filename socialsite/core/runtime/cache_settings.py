"""The address of the cache, a part of `socialsite.env`: one server, a cluster, or Sentinels."""

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from socialsite.core.cache_servers import CLUSTER, ONE, SENTINEL, several


class CacheSettings(BaseSettings):
    """Where the cache is."""

    REDIS_URL: str = Field(
        "",
        description="cache Redis: redis://, by its socket unix://, redis+cluster:// with nodes of a"
        " cluster, redis+sentinel:// with Sentinels; empty: in the process",
    )

    @field_validator("REDIS_URL")
    @classmethod
    def _redis(cls, value: str) -> str:
        if value and several(value) is None and not value.startswith(ONE):
            schemes = ", ".join((*ONE, f"{CLUSTER}://"))
            raise ValueError(f"must start with {schemes} or {SENTINEL}://")
        return value
