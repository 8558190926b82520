"""Settings of the API: REST framework, and drf-spectacular for the schema."""

from typing import Any

FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.request_auth.authentication.TokenAuthentication"],
    "DEFAULT_THROTTLE_CLASSES": ["socialsite.core.requests.request_budgets.Throttle"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["socialsite.core.http.json.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["socialsite.core.http.json.OrjsonParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "socialsite.core.http.json.JsonForAll",
    "EXCEPTION_HANDLER": "socialsite.core.http.api.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "URL_FORMAT_OVERRIDE": None,
}
SCHEMA: dict[str, Any] = {
    "TITLE": "socialsite",
    "VERSION": "1",
    "DESCRIPTION": "Sign-on, relations, feeds, likes and comments.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "socialsite.api.openapi_credentials.add_refused_credentials",
        "socialsite.api.openapi_budgets.add_budgets",
    ],
    "OAS_VERSION": "3.1.0",  # its schemas are JSON Schema, which can declare null
    "ENUM_NAME_OVERRIDES": {
        "ClientEnum": "accounts.devices.Client",  # fields client and kind
        "WhoseEnum": "interactions.kinds.CHOICES",
        "NotificationKindEnum": "interactions.kinds.NAMES",
        "KindEnum": "feeds.models.Kind",
        "ActKindEnum": "accounts.models.StaffAct.Kind",
        "AppealStateEnum": "accounts.models.Appeal.State",
        "SignUpStateEnum": "accounts.api.sign_up_serializers.SIGN_UP_STATES",
        "ImportKindEnum": "socialsite.core.models.Import.Kind",
        "ImportStateEnum": "socialsite.core.models.Import.State",
        "VideoStateEnum": "socialsite.core.models.Video.State",
    },
}
