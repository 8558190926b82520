"""The environment, read once, typed and validated; every setting is a field here.

docs/configuration.md lists these fields; a test compares the two.
"""

import grp
import os
import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from socialsite.core.cache_servers import CLUSTER, SENTINEL
from socialsite.core.media.media_settings import MediaSettings
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.runtime import data_dir, keys, own_keys, service_keys, vapid
from socialsite.core.runtime.broker_settings import BrokerSettings
from socialsite.core.runtime.cache_settings import CacheSettings
from socialsite.core.runtime.metrics_settings import MetricsSettings
from socialsite.core.runtime.replica_settings import ReplicaSettings
from socialsite.core.runtime.stream_settings import StreamSettings, is_same_server

PROJECT_DIR = Path(__file__).resolve().parent.parent
CONTACT = re.compile(r"(mailto:|https://)[!-~]+")
# With this threshold the posts of the demo's biggest author are pulled, as the demo has 300 people.
DEMO_PUSH_ALL_MAX = 100
# What Celery cannot take for the address of a broker.
NO_BROKER = ("unix://", f"{CLUSTER}://", f"{SENTINEL}://")


class Env(
    MetricsSettings, MediaSettings, StreamSettings, ReplicaSettings, CacheSettings, BrokerSettings
):
    """Environment variables of the site. The names or the descriptions state the units."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore")

    DATABASE_URL: str = Field("", description="mysql://user:password@host:port/name; empty: SQLite")
    SECRET_KEY: str = Field("", description="Django's key; empty: generated and stored in DATA_DIR")
    SECRET_KEY_FALLBACKS: Annotated[list[str], NoDecode] = Field(
        default=[], description="previous SECRET_KEYs, comma-separated: decrypt only"
    )
    JWT_KEYS: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="token keys, comma-separated; the first signs; empty: generated and stored",
    )
    ALLOWED_HOSTS: Annotated[list[str], NoDecode] = Field(
        default=[], description="comma-separated host names; empty: HOST and loopback names"
    )
    HOST: str = Field("127.0.0.1", description="address to listen on")
    PORT: int = Field(8000, ge=1, le=65535, description="port to listen on")
    SITE_URL: str = Field(
        "", description="public address; https makes cookies Secure; empty: http://HOST:PORT"
    )
    SITE_NAME: str = Field(
        "socialsite", max_length=40, description="name of the site; staff may change it"
    )
    SIGN_UP: Literal["open", "approval", "invite", "closed"] = Field(
        "open",
        description="who may sign up: open, approval, invite, closed; staff may change it",
    )
    DATA_DIR: Path = Field(
        PROJECT_DIR / "data", description="database file, uploads, generated keys"
    )
    FILES_GROUP: str = Field(
        "", description="group of a front web server that reads media and static files in DATA_DIR"
    )
    DEMO: bool = Field(
        True, description="fill the site with demo data; with https the default is 0"
    )
    LOG_FORMAT: Literal["line", "json"] = Field(
        "line", description="log lines as text (line), or as one JSON object each (json)"
    )
    DEBUG: bool = Field(False, description="Django's debug pages; never in production")
    LANGUAGE: Literal["en", "zh-hans"] = Field(
        "en", description="language of visitors who request none"
    )
    TRUSTED_PROXIES: int = Field(
        0,
        ge=0,
        le=5,
        description="number of reverse proxies in front whose X-Forwarded-For entry counts",
    )
    SERVICE_KEYS: Annotated[list[str], NoDecode] = Field(
        default=[], description="comma-separated key or name:key of services that may introspect"
    )
    ACCESS_MINUTES: int = Field(15, ge=1, le=1440, description="lifetime of an access token")
    REFRESH_DAYS: int = Field(30, ge=1, le=365, description="lifetime of a refresh token")
    CLIENT_POLICY: Literal["type", "device"] = Field(
        "type", description="one sign-in of a person per type of device, or per device"
    )
    PASSWORD_POLICY: Literal["seed", "asvs"] = Field(
        "seed", description="6 to 16 of A-Za-z0-9@#$&. (seed), or 8 to 128 of any character (asvs)"
    )
    NAME_POLICY: Literal["seed", "open"] = Field(
        "seed",
        description="nicknames: 4 to 16 Chinese characters, letters, digits (seed), or 1 to 30 of"
        " any script (open); with DEMO: open",
    )
    LOGIN_ERRORS: Literal["merged", "separate"] = Field(
        "merged", description="failed log-in: one common error, or separate codes 1 and 2"
    )
    STAFF_TOTP: bool = Field(False, description="staff need a second factor to use the admin")
    EMAIL_URL: str = Field(
        "", description="smtp://user:password@host:port/?tls=True; empty: files in DATA_DIR/mail"
    )
    EMAIL_FROM: str = Field("", description="sender of mails; empty: noreply@ the site's host")
    SECURITY_CONTACT: str = Field(
        "", description="where to report security problems, mailto:… or https://…; empty: none"
    )
    FOLLOW_LIMIT: int = Field(
        1000, ge=1, le=100_000, description="maximum number of people one person may follow"
    )
    PUSH_ALL_MAX: int = Field(
        5000,
        ge=0,
        description="followers up to which a post is pushed to all; embedded with DEMO: 100",
    )
    PUSH_ACTIVE_MAX: int = Field(
        100_000, ge=0, description="followers up to which a post is pushed to active followers"
    )
    ACTIVE_DAYS: int = Field(
        30,
        ge=1,
        le=3650,
        description="days since the last visit during which people count as active",
    )
    FANOUT_CHUNK: int = Field(1000, ge=1, le=100_000, description="followers in one fan-out chunk")
    BACKFILL_MAX: int = Field(
        200, ge=0, le=100_000, description="posts copied to the inbox on a follow"
    )
    INBOX_MAX: int = Field(
        1000, ge=1, le=1_000_000, description="maximum posts in one inbox; older posts are pulled"
    )
    MAX_CACHED_POST_SIZE: int = Field(
        100, ge=1, le=400, description="entries in a cached list regardless of their age"
    )
    MIN_CACHED_POST_SECONDS: int = Field(
        604_800, ge=0, description="maximum age of further entries, up to 400 entries"
    )
    NOTIFICATION_DAYS: int = Field(
        90, ge=1, le=3650, description="days until read notifications are deleted"
    )
    DRAFT_DAYS: int = Field(
        30, ge=1, le=3650, description="days until drafts that nobody changes are deleted"
    )
    CLOSE_GRACE_DAYS: int = Field(
        14,
        ge=0,
        le=365,
        description="days during which a closed account can be taken back; 0: it is erased at once",
    )
    IP_DAYS: int = Field(
        30,
        ge=0,
        le=3650,
        description="days until IP addresses of sign-ins and acts are erased; 0: none is stored",
    )
    VAPID_PRIVATE_KEY: str = Field(
        "",
        description="key that signs pushes: P-256, 32 bytes in base64url or PEM; empty: embedded"
        " generated and stored in DATA_DIR, otherwise no push",
    )
    VAPID_SUBJECT: str = Field(
        "",
        description="where push services report problems, mailto:… or https://…; empty:"
        " SECURITY_CONTACT, or the site's address",
    )
    BUDGETS: bool = Field(
        True, description="0 lifts all budgets except those of failed attempts; for trials only"
    )
    LINK_PREVIEWS: bool = Field(
        True, description="the site reads the pages that posts link to, and shows a preview of them"
    )
    OUTGOING_LOOPBACK: bool = Field(
        False, description="the site may send requests to its own machine; for tests only"
    )
    FAILPOINT: str = Field("", description="name:n, kills the process at that point (tests only)")
    _rates: dict[str, Rate | None] = PrivateAttr(default_factory=dict)

    @field_validator(
        "SECRET_KEY_FALLBACKS", "JWT_KEYS", "ALLOWED_HOSTS", "SERVICE_KEYS", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("JWT_KEYS")
    @classmethod
    def _keys(cls, value: list[str]) -> list[str]:
        return keys.read(value)

    @field_validator("FILES_GROUP")
    @classmethod
    def _group(cls, value: str) -> str:
        if value:
            try:
                grp.getgrnam(value)
            except KeyError:
                raise ValueError("there is no group of this name") from None
        return value

    @field_validator("SERVICE_KEYS")
    @classmethod
    def _services(cls, value: list[str]) -> list[str]:
        service_keys.read(value)
        return value

    @field_validator("SITE_URL")
    @classmethod
    def _address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value.rstrip("/")

    @field_validator("VAPID_PRIVATE_KEY")
    @classmethod
    def _vapid(cls, value: str) -> str:
        return vapid.read(value) if value else value

    @field_validator("SITE_NAME")
    @classmethod
    def _site_name(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must have no invisible characters")
        return value

    @field_validator("SECURITY_CONTACT", "VAPID_SUBJECT")
    @classmethod
    def _contact(cls, value: str) -> str:
        if value and not CONTACT.fullmatch(value):
            raise ValueError("must be one address that starts with mailto: or https://")
        return value

    @field_validator("DATABASE_URL")
    @classmethod
    def _database(cls, value: str) -> str:
        if value and not value.startswith("mysql://"):
            raise ValueError("must start with mysql://")
        return value

    @model_validator(mode="after")
    def _no_demo_in_public(self) -> "Env":
        if self.https and "DEMO" not in self.model_fields_set:
            self.DEMO = False  # everybody knows its log-ins, one of them an admin's
        return self

    @model_validator(mode="after")
    def _demo_threshold(self) -> "Env":
        if self.embedded and self.DEMO and "PUSH_ALL_MAX" not in self.model_fields_set:
            self.PUSH_ALL_MAX = min(DEMO_PUSH_ALL_MAX, self.PUSH_ACTIVE_MAX)
        return self

    @model_validator(mode="after")
    def _demo_names(self) -> "Env":
        if self.DEMO and "NAME_POLICY" not in self.model_fields_set:
            self.NAME_POLICY = "open"
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "Env":
        if self.PUSH_ACTIVE_MAX < self.PUSH_ALL_MAX:
            raise ValueError("PUSH_ACTIVE_MAX must not be below PUSH_ALL_MAX")
        if bool(self.DATABASE_URL) != bool(self.REDIS_URL):
            raise ValueError(
                "DATABASE_URL and REDIS_URL go together: set both (full stack) or none (embedded)"
            )
        if self.REDIS_URL.startswith(NO_BROKER) and not self.BROKER_URL:
            raise ValueError("BROKER_URL is needed: this REDIS_URL cannot be the broker, too")
        if self.BROKER_URL and self.embedded:
            raise ValueError("BROKER_URL needs DATABASE_URL and REDIS_URL")
        if self.REPLICA_URLS and self.embedded:
            raise ValueError("REPLICA_URLS needs DATABASE_URL and REDIS_URL")
        if self.DATABASE_URL in self.REPLICA_URLS:
            raise ValueError("REPLICA_URLS must not have DATABASE_URL")
        stream = self.event_stream
        if stream and self.embedded:
            raise ValueError("EVENT_STREAM_URL needs DATABASE_URL and REDIS_URL")
        if stream and any(is_same_server(stream, url) for url in (self.REDIS_URL, self.BROKER_URL)):
            # Those may be emptied at any moment.
            raise ValueError("EVENT_STREAM_URL must be another Redis than REDIS_URL and BROKER_URL")
        return self

    @property
    def embedded(self) -> bool:
        """True if no service is configured: SQLite, Redis and broker run in this process."""
        return not self.DATABASE_URL

    @property
    def services(self) -> list[service_keys.Service]:
        """Services that may introspect tokens, with their keys."""
        return service_keys.read(self.SERVICE_KEYS)

    @property
    def rates(self) -> dict[str, Rate | None]:
        """The rate of every budget by name; None for no limit."""
        return self._rates

    @property
    def files_group(self) -> int | None:
        """The id of FILES_GROUP; None for no group."""
        return grp.getgrnam(self.FILES_GROUP).gr_gid if self.FILES_GROUP else None

    @property
    def site_url(self) -> str:
        """Public address without a trailing slash."""
        return self.SITE_URL or f"http://{self.HOST}:{self.PORT}"

    @property
    def vapid_subject(self) -> str:
        """The contact in requests to push services, which accept mailto: and https: only."""
        site = self.site_url if self.https else f"mailto:noreply@{urlsplit(self.site_url).hostname}"
        return self.VAPID_SUBJECT or self.SECURITY_CONTACT or site

    @property
    def https(self) -> bool:
        """True if people reach the site over TLS."""
        return self.site_url.startswith("https://")


def load() -> Env:
    """Read and validate the environment; exit with one readable line for each mistake."""
    lines, env = [], None
    try:
        env = Env()
    except ValidationError as error:
        for item in error.errors():
            name = str(item["loc"][0]) if item["loc"] else "environment"
            lines.append(f"{name}: {item['msg'].removeprefix('Value error, ')}")
    try:
        rates = budgets.read(os.environ, lifted=env is not None and not env.BUDGETS)
    except budgets.BadBudgets as error:
        lines += [f"{name}: {text}" for name, text in error.mistakes.items()]
    if env is None or lines:
        raise SystemExit("Bad configuration:\n  " + "\n  ".join(lines))
    env._rates = rates
    try:
        data_dir.secure(env.DATA_DIR, env.files_group)
    except PermissionError as error:
        raise SystemExit(
            "Bad configuration:\n  FILES_GROUP: this account must be a member, or DATA_DIR cannot"
            f" be secured ({error})"
        ) from None
    env = _with_keys(env)
    if {env.SECRET_KEY, *env.SECRET_KEY_FALLBACKS} & {*env.JWT_KEYS}:
        # Both keys have different purposes, so a leak of one must not leak the other.
        raise SystemExit("Bad configuration:\n  JWT_KEYS: SECRET_KEY must not be one of them")
    own = {env.SECRET_KEY, *env.SECRET_KEY_FALLBACKS, *env.JWT_KEYS}
    if own & {service.key for service in env.services}:
        raise SystemExit("Bad configuration:\n  SERVICE_KEYS: a key of the site is one of them")
    return env


def _with_keys(env: Env) -> Env:
    """Fill in missing keys from DATA_DIR/keys.json, which is generated once."""
    given = {
        "SECRET_KEY": env.SECRET_KEY,
        "JWT_KEY": env.JWT_KEYS,
        "METRICS_TOKEN": env.METRICS_TOKEN,
    }
    if env.embedded:
        given["VAPID_PRIVATE_KEY"] = env.VAPID_PRIVATE_KEY
    missing = [name for name, value in given.items() if not value]
    if {"SECRET_KEY", "JWT_KEY"} & {*missing} and env.DATABASE_URL and env.https:
        raise SystemExit(
            "Bad configuration:\n  SECRET_KEY and JWT_KEYS must be set on a real site"
            " (`make_key` prints one, without DATABASE_URL)"
        )
    try:
        stored = own_keys.stored(env.DATA_DIR, missing) if missing else {}
    except OSError as error:
        raise SystemExit(
            f"Bad configuration:\n  DATA_DIR: {own_keys.FILE} cannot be read or written"
            f" ({error.strerror}), so these must be set: {', '.join(missing)}"
        ) from None
    return env.model_copy(
        update={
            "SECRET_KEY": env.SECRET_KEY or stored["SECRET_KEY"],
            "JWT_KEYS": env.JWT_KEYS or [stored["JWT_KEY"]],
            "METRICS_TOKEN": env.METRICS_TOKEN or stored["METRICS_TOKEN"],
            "VAPID_PRIVATE_KEY": env.VAPID_PRIVATE_KEY
            or (stored["VAPID_PRIVATE_KEY"] if env.embedded else ""),
        }
    )
