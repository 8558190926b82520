"""The environment variables of metrics, a part of `socialsite.env`."""

import re

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

METRICS_TOKEN_MIN = 8


class MetricsSettings(BaseSettings):
    """Who may read `/metrics`, where processes share what they measure, and what they log of it."""

    METRICS_TOKEN: str = Field(
        "", description="Bearer token of /metrics; empty: generated and stored in DATA_DIR"
    )
    METRICS_DIR: str = Field(
        "",
        description="private directory in which the processes of this machine share their metrics;"
        " empty: each keeps its own in memory",
    )
    METRICS_ROLE: str = Field(
        "",
        pattern=r"^[a-z0-9-]*$",
        description="name of this process in METRICS_DIR; no two processes may have the same",
    )
    OTEL_EXPORTER_OTLP_ENDPOINT: str = Field(
        "", description="where OpenTelemetry sends traces, http:// or https://; empty: nowhere"
    )
    SLOW_REQUEST_SECONDS: float = Field(
        5, ge=0, description="requests that take as long leave a line in the log"
    )

    @field_validator("METRICS_TOKEN")
    @classmethod
    def _metrics_token(cls, value: str) -> str:
        if value and (len(value) < METRICS_TOKEN_MIN or re.search(r"[^!-~]", value)):
            raise ValueError(
                f"must have at least {METRICS_TOKEN_MIN} characters, ASCII without blanks"
            )
        return value
