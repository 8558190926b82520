"""The environment variable of the replicas of the database, a part of `socialsite.env`."""

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode


class ReplicaSettings(BaseSettings):
    """Where reads that may be answered elsewhere go."""

    REPLICA_URLS: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="replicas of the database for some reads, mysql:// as DATABASE_URL,"
        " comma-separated; empty: none",
    )

    @field_validator("REPLICA_URLS", mode="before")
    @classmethod
    def _split_replicas(cls, value: object) -> object:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("REPLICA_URLS")
    @classmethod
    def _replicas(cls, value: list[str]) -> list[str]:
        if any(not url.startswith("mysql://") for url in value):
            raise ValueError("each must start with mysql://")
        if len(set(value)) < len(value):
            raise ValueError("no replica may be there twice")
        return value
