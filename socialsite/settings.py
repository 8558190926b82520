"""Django settings of both modes: embedded (no services) and full stack (MySQL, Redis, broker).

Every setting of a deployer comes from `socialsite.env`; no other module reads the environment.
"""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_email_url
from redis.backoff import NoBackoff
from redis.retry import Retry

from socialsite import schedule
from socialsite.api import framework_settings
from socialsite.core import cache_servers
from socialsite.core.http.server import body_limits
from socialsite.core.http.server.hsts import HSTS_SECONDS
from socialsite.core.runtime import (
    broker_settings,
    data_dir,
    database_settings,
    keys,
    redaction,
)
from socialsite.env import PROJECT_DIR, load

ENV = load()
EMBEDDED = ENV.embedded
BASE_DIR = PROJECT_DIR
DATA_DIR = ENV.DATA_DIR  # `core.runtime.data_dir` created it, with the media and static directories
FILES_GROUP = ENV.files_group

# --- identity and hosts -------------------------------------------------------------------------
SECRET_KEY = ENV.SECRET_KEY
SECRET_KEY_FALLBACKS = ENV.SECRET_KEY_FALLBACKS
DEBUG = ENV.DEBUG
SITE_URL = ENV.site_url
HTTPS = ENV.https
ALLOWED_HOSTS = ENV.ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]", ENV.HOST]
ROOT_URLCONF = "socialsite.urls"
WSGI_APPLICATION = "socialsite.wsgi.application"
ASGI_APPLICATION = "socialsite.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
APPEND_SLASH = False

INSTALLED_APPS = [
    "accounts",  # before the admin, so that its admin templates win
    "accounts.apps.SiteAdminConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "socialsite",
    "socialsite.core",
    "relations",
    "feeds",
    "interactions",
]

MIDDLEWARE = [
    "socialsite.pages.middleware.RequestId",
    "socialsite.metrics.middleware.RequestSpans",
    "socialsite.pages.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "socialsite.pages.middleware.Health",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "socialsite.metrics.middleware.RequestTimes",
    "socialsite.pages.middleware.SiteAlong",
    "socialsite.pages.embeds.Embeds",
    "socialsite.pages.middleware.AdminOnlySession",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.request_auth.middleware.TokenMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.views.terms.AskTerms",
    "socialsite.pages.middleware.ErrorPages",
    "socialsite.pages.middleware.RequestGuard",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "NAME": "jinja2",
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "environment": "socialsite.pages.jinja.environment",
            "context_processors": ["socialsite.pages.jinja.page_context"],
        },
    },
    {
        "NAME": "django",  # admin and the API's schema page only
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    },
]

# --- database: the only source of truth ---------------------------------------------------------
DATABASES: dict[str, Any] = {
    "default": (
        database_settings.embedded(DATA_DIR)
        if EMBEDDED
        else database_settings.mysql(ENV.DATABASE_URL)
    ),
    **database_settings.replicas(ENV.REPLICA_URLS),
}
DATABASE_ROUTERS = ["socialsite.core.db.routing.Router"]
REPLICAS = database_settings.replica_aliases(len(ENV.REPLICA_URLS))

# --- Redis: disposable --------------------------------------------------------------------------
REDIS_URL = ENV.REDIS_URL or "redis://embedded:6379/0"
REDIS_TIMEOUT_SECONDS = 0.2
_pool: dict[str, Any] = {
    "socket_timeout": REDIS_TIMEOUT_SECONDS,
    "socket_connect_timeout": REDIS_TIMEOUT_SECONDS,
    "retry": Retry(NoBackoff(), 0),
    "protocol": 2,  # flat replies, which parse in half the time
}
# Several servers, with a client of their own (`core.redis.sharded`); None: one.
CACHE_SERVERS = cache_servers.several(REDIS_URL)
_layer_host: dict[str, Any] = {"address": REDIS_URL}
if CACHE_SERVERS:
    from socialsite.core.runtime.layer_hosts import layer_host

    _layer_host = layer_host(CACHE_SERVERS)
if EMBEDDED:
    from fakeredis import FakeAsyncRedisConnection, FakeRedisConnection, FakeServer

    # Created here: threads that request it by address at the same time might each get their own.
    _server = FakeServer(version=(7,))
    _pool = {"connection_class": FakeRedisConnection, "server": _server, "protocol": 2}
    _layer_host |= {"connection_class": FakeAsyncRedisConnection, "server": _server}

CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"CONNECTION_POOL_KWARGS": _pool},
    }
}
CHANNEL_PREFIX = "ws"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [_layer_host], "prefix": CHANNEL_PREFIX},
    }
}

# --- Celery: only hints -------------------------------------------------------------------------
CELERY_BROKER_URL = ENV.BROKER_URL or ("memory://localhost" if EMBEDDED else REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_ACKS_LATE = False  # work is claimed by lease in the database; a message is only a hint
# Threads: each process would take 100 MB, and most of the work is done by the database.
# The queue of a worker of its own: a conversion or an archive takes minutes. The embedded mode has
# one worker for everything.
LONG_TASKS = ("core.convert_videos", "site.build_exports", "site.run_imports")
CELERY_TASK_ROUTES = {} if EMBEDDED else {name: {"queue": "video"} for name in LONG_TASKS}
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = 2
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"polling_interval": 0.05} if EMBEDDED else ENV.broker_options
)
if "sentinel_kwargs" in CELERY_BROKER_TRANSPORT_OPTIONS:  # there are other Sentinels to ask
    CELERY_BROKER_TRANSPORT_OPTIONS["sentinel_kwargs"]["retry"] = Retry(NoBackoff(), 0)
# RabbitMQ gives the queue of remote control to one worker of a name, and machines may share a name.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = not CELERY_BROKER_URL.startswith("amqp")
# Several servers of RabbitMQ have queues with a copy on each. They have names of their own: a queue
# cannot change its type.
CELERY_TASK_DEFAULT_QUEUE = broker_settings.queue_name("celery", quorum=ENV.has_quorum_queues)
CELERY_TASK_DEFAULT_QUEUE_TYPE = "quorum" if ENV.has_quorum_queues else "classic"
CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = CELERY_TASK_DEFAULT_QUEUE_TYPE
if ENV.has_quorum_queues:
    # Another server takes over, so a silent one is left early.
    CELERY_BROKER_HEARTBEAT = broker_settings.HEARTBEAT_SECONDS
    CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # a queue has no leader for a moment
    CELERY_WORKER_CONSUMER = "socialsite.core.events.consumer:Consumer"
# Every worker runs the schedule. In the embedded mode there is one, so nothing needs to be stored.
CELERY_BEAT_SCHEDULER = (
    "celery.beat:Scheduler" if EMBEDDED else "socialsite.core.events.beat:SharedScheduler"
)
CELERY_BEAT_SCHEDULE = schedule.TASKS
EVENT_STREAM = ENV.event_stream  # None: no other system reads the events
EVENT_STREAM_HOURS = ENV.EVENT_STREAM_HOURS
if EVENT_STREAM and EVENT_STREAM.has_publisher:
    CELERY_BEAT_SCHEDULE = CELERY_BEAT_SCHEDULE | schedule.STREAM

# --- accounts -----------------------------------------------------------------------------------
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "login"
ACCESS_LIFETIME = timedelta(minutes=ENV.ACCESS_MINUTES)
REFRESH_LIFETIME = timedelta(days=ENV.REFRESH_DAYS)
JWT_KEYS = ENV.JWT_KEYS  # the first signs, all verify
SIMPLE_JWT: dict[str, Any] = {
    "ALGORITHM": keys.parse(ENV.JWT_KEYS[0]).algorithm,
    "SIGNING_KEY": ENV.JWT_KEYS[0],
    "ISSUER": "socialsite",
    "AUDIENCE": "socialsite",
    "ACCESS_TOKEN_LIFETIME": ACCESS_LIFETIME,
    "REFRESH_TOKEN_LIFETIME": REFRESH_LIFETIME,
    "USER_ID_CLAIM": "uid",
    "TOKEN_TYPE_CLAIM": "typ",
    "JTI_CLAIM": "jti",
}
TRUSTED_PROXIES = ENV.TRUSTED_PROXIES
IP_DAYS = ENV.IP_DAYS
CLOSE_GRACE_DAYS = ENV.CLOSE_GRACE_DAYS
DRAFT_DAYS = ENV.DRAFT_DAYS
METRICS_TOKEN = ENV.METRICS_TOKEN
METRICS_DIR = Path(ENV.METRICS_DIR) if ENV.METRICS_DIR else None
METRICS_ROLE = ENV.METRICS_ROLE
OTEL_EXPORTER_OTLP_ENDPOINT = ENV.OTEL_EXPORTER_OTLP_ENDPOINT
SLOW_REQUEST_SECONDS = ENV.SLOW_REQUEST_SECONDS
SERVICE_KEYS = ENV.services
CLIENT_POLICY = ENV.CLIENT_POLICY
PASSWORD_POLICY = ENV.PASSWORD_POLICY
NAME_POLICY = ENV.NAME_POLICY
LOGIN_ERRORS = ENV.LOGIN_ERRORS
PASSWORD_RESET_TIMEOUT = 3600
STAFF_TOTP = ENV.STAFF_TOTP
OTP_TOTP_ISSUER = ENV.SITE_NAME

# --- budgets: socialsite.core.rate_limits.budgets has the table ----------------------------------
BUDGETS = ENV.rates

# --- mail ---------------------------------------------------------------------------------------
if ENV.EMAIL_URL:
    vars().update(dj_email_url.parse(ENV.EMAIL_URL))
else:
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = str(DATA_DIR / "mail")
    # Private: its links set passwords.
    Path(EMAIL_FILE_PATH).mkdir(mode=data_dir.OWN_DIR, exist_ok=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENV.EMAIL_FROM or f"noreply@{urlsplit(SITE_URL).hostname}"
SECURITY_CONTACT = ENV.SECURITY_CONTACT
SITE_NAME = ENV.SITE_NAME
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
SIGN_UP = ENV.SIGN_UP

# --- relations, feeds, interactions -------------------------------------------------------------
FOLLOW_LIMIT = ENV.FOLLOW_LIMIT
PUSH_ALL_MAX = ENV.PUSH_ALL_MAX
PUSH_ACTIVE_MAX = ENV.PUSH_ACTIVE_MAX
ACTIVE_DAYS = ENV.ACTIVE_DAYS
FANOUT_CHUNK = ENV.FANOUT_CHUNK
BACKFILL_MAX = ENV.BACKFILL_MAX
INBOX_MAX = ENV.INBOX_MAX
MAX_CACHED_POST_SIZE = ENV.MAX_CACHED_POST_SIZE
MIN_CACHED_POST_SECONDS = ENV.MIN_CACHED_POST_SECONDS
NOTIFICATION_DAYS = ENV.NOTIFICATION_DAYS
FAILPOINT = ENV.FAILPOINT

# --- requests of the site to other machines -----------------------------------------------------
LINK_PREVIEWS = ENV.LINK_PREVIEWS
OUTGOING_LOOPBACK = ENV.OUTGOING_LOOPBACK
VAPID_PRIVATE_KEY = ENV.VAPID_PRIVATE_KEY  # empty: no push
VAPID_SUBJECT = ENV.vapid_subject

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = framework_settings.FRAMEWORK
SPECTACULAR_SETTINGS = framework_settings.SCHEMA
# For form fields, not files. `body_limits` limits the whole body first, by its address.
DATA_UPLOAD_MAX_MEMORY_SIZE = body_limits.ARTICLE
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 20

# --- files --------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = EMBEDDED
WHITENOISE_ALLOW_ALL_ORIGINS = False  # as nginx serves them: for this site only
MEDIA_URL = "/media/"
# With a bucket, that of the uploads which were not moved there yet, and of drafts.
MEDIA_ROOT = ENV.media_folder or DATA_DIR / "media"
MEDIA_BUCKET = ENV.media_bucket
# nginx, if it is in front, reads the folder that uploads are in by default.
MEDIA_BY_NGINX = not (EMBEDDED or ENV.MEDIA_URL)
MEDIA_MIN_FREE_PERCENT = ENV.MEDIA_MIN_FREE_PERCENT
VIDEO_UPLOADS = ENV.VIDEO_UPLOADS
VIDEO_MB = ENV.VIDEO_MB
VIDEO_SECONDS = ENV.VIDEO_SECONDS
IMPORT_MB = ENV.IMPORT_MB
# Embedded, a video must be one that browsers play: no program is needed beside Python.
VIDEO_CONVERSION = not EMBEDDED
# For static files; uploads get the same (`core.media.pictures`).
FILE_UPLOAD_PERMISSIONS = data_dir.shared_file(FILES_GROUP)
FILE_UPLOAD_DIRECTORY_PERMISSIONS = data_dir.shared_dir(FILES_GROUP)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if EMBEDDED
        else "socialsite.core.http.static_files.HashedStaticFilesStorage"
    },
}

# --- languages and time -------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = ENV.LANGUAGE
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "socialsite" / "locale"]
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = HTTPS

# --- security -----------------------------------------------------------------------------------
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "csrf"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [SITE_URL]
CSRF_FAILURE_VIEW = "socialsite.pages.views.csrf_failure"
SESSION_COOKIE_SECURE = HTTPS
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
SECURE_SSL_REDIRECT = False
SILENCED_SYSTEM_CHECKS = ["security.W008"]  # the proxy in front redirects to https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.TRUSTED_PROXIES else None
SECURE_HSTS_SECONDS = HSTS_SECONDS if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"

redaction.install()  # removes secrets from all records, for every handler
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "socialsite.core.runtime.logs.Line"},
        "json": {"()": "socialsite.core.runtime.logs.Json", "role": ENV.METRICS_ROLE or "site"},
    },
    "filters": {
        "one_line": {"()": "socialsite.core.runtime.logs.OneLine"},
        "outage": {"()": "socialsite.core.runtime.logs.Outage"},
        "sparing": {"()": "socialsite.core.runtime.logs.Sparing"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": ENV.LOG_FORMAT,
            "filters": ["one_line", "outage", "sparing"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "socialsite": {"level": "INFO"},
        "django.request": {"level": "ERROR"},  # a 404 needs no log line
        # The servers have configured their own loggers before.
        "_granian": {"handlers": [], "level": "WARNING", "propagate": True},
        "uvicorn": {"handlers": [], "level": "WARNING", "propagate": True},
    },
}
