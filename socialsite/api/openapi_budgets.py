"""Add the budgets that an operation takes from to its description in the OpenAPI document."""

from typing import Any

ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
HEADERS = {
    "RateLimit-Limit": "size of the budget that has the smallest part left",
    "RateLimit-Remaining": "what is left of it now",
    "RateLimit-Reset": "seconds until all of it is back; in a 429 the same as Retry-After",
}


def add_budgets(
    result: dict[str, Any], generator: Any, request: object, public: bool
) -> dict[str, Any]:
    """Describe 429 and the budget headers; a postprocessing hook of drf-spectacular."""
    for path, _regex, method, callback in generator.endpoints:
        operation = result["paths"].get(path, {}).get(method.lower())
        if operation is None or not takes(callback.cls, method):
            continue
        responses = operation["responses"]
        responses.setdefault("429", {"content": ERROR, "description": ""})
        for status, response in responses.items():
            if status != "401":  # refused before any token is taken
                refs = {name: {"$ref": f"#/components/headers/{name}"} for name in HEADERS}
                response["headers"] = response.get("headers", {}) | refs
    result["components"]["headers"] = {
        name: {"schema": {"type": "integer"}, "description": f"{text}; absent without Redis"}
        for name, text in HEADERS.items()
    }
    return result


def takes(view: type, method: str) -> bool:
    """Return whether a method of an API view takes from a budget that its responses report."""
    handler = getattr(view, method.lower(), None)
    return method in getattr(view, "takes", {}) or hasattr(handler, "budget")
