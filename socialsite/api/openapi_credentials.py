"""Add 401 to the operations of the OpenAPI document that take a credential."""

from typing import Any

from socialsite.api.openapi_budgets import ERROR

METHODS = ("get", "post", "put", "patch", "delete")


def add_refused_credentials(
    result: dict[str, Any], generator: object, request: object, public: bool
) -> dict[str, Any]:
    """Describe 401; a postprocessing hook of drf-spectacular.

    An operation that everybody may use refuses an expired token too, so that its sender renews it.
    """
    for item in result["paths"].values():
        for method in METHODS:
            operation = item.get(method, {})
            responses = operation.get("responses", {})
            if any(operation.get("security", ())) and "4XX" not in responses:
                responses.setdefault("401", {"content": ERROR, "description": ""})
    return result
