"""The operations of the site's OpenAPI document, with values that fit their schemas.

The values are generated here. hypothesis-jsonschema 0.23 fails with the current Hypothesis.
Schemathesis 4.32 brings eleven more packages, and its runs act as one person. In a trial of five
minutes the site accepted 18 % of its writes, as the document says little about valid ids or names.
Here the name of a field determines its purpose (`chaos.campaign.fuzz.valid_values`), the schema the
rest, and 46 % were accepted. `chaos.campaign.fuzz.conformance` compares responses with the
document.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from chaos.campaign.fuzz.hostile_values import Dice
from chaos.campaign.site.requests import Request, Wire

METHODS = ("get", "post", "put", "patch", "delete")
EXAMPLES = 200


@dataclass(frozen=True)
class Operation:
    """One method of one address."""

    method: str
    path: str
    path_parameters: tuple[str, ...]
    query_parameters: tuple[str, ...]
    takes_key: bool
    kind: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Return True if it changes something."""
        return self.method != "GET"


def document(wire: Wire) -> dict[str, Any]:
    """Return the site's own document."""
    headers = {"Accept": "application/vnd.oai.openapi+json"}
    answer = wire.send(Request("GET", "/api/schema/"), headers)
    found = answer.json()
    if not found:
        raise RuntimeError(f"no document: {answer.status} {answer.text[:200]}")
    return dict(found)


def operations(whole: dict[str, Any]) -> list[Operation]:
    """Return all operations of a document."""
    return [
        _operation(whole, path, method, item[method])
        for path, item in sorted(whole["paths"].items())
        for method in METHODS
        if method in item
    ]


def _operation(whole: dict[str, Any], path: str, method: str, item: dict[str, Any]) -> Operation:
    parameters = item.get("parameters", [])
    content = item.get("requestBody", {}).get("content", {})
    kind = next(iter(content), "")
    schema = _resolved(whole, content[kind]["schema"]) if kind else {}
    properties = schema.get("properties", {})
    return Operation(
        method.upper(),
        path,
        tuple(p["name"] for p in parameters if p["in"] == "path"),
        tuple(p["name"] for p in parameters if p["in"] == "query"),
        any(p["name"] == "Idempotency-Key" for p in parameters),
        kind,
        {name: _resolved(whole, part) for name, part in properties.items()},
        tuple(schema.get("required", ())),
    )


def _resolved(whole: dict[str, Any], schema: Any) -> Any:
    """Return a schema with all references resolved."""
    if isinstance(schema, list):
        return [_resolved(whole, part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(whole, whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
    return {key: _resolved(whole, value) for key, value in schema.items()}


def value(schema: Mapping[str, Any], dice: Dice) -> Any:
    """Return a value that fits a schema."""
    if "enum" in schema:
        return dice.choice(schema["enum"])
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return value(dice.choice(schema[several]), dice)
    kinds = schema.get("type", "string")
    match dice.choice(kinds) if isinstance(kinds, list) else kinds:
        case "null":
            return None
        case "boolean":
            return dice.random() < 0.5
        case "integer" | "number":
            return dice.randrange(schema.get("minimum", 0), schema.get("maximum", 10**6) + 1)
        case "array":
            count = dice.randrange(min(3, schema.get("maxItems", 3)) + 1)
            return [value(schema.get("items", {}), dice) for _ in range(count)]
        case "object":
            return {k: value(part, dice) for k, part in schema.get("properties", {}).items()}
    return dice.words(min(schema.get("maxLength", 200), 200))


def any_json(seed: int) -> tuple[Any, ...]:
    """Return values of every JSON type, always the same for a seed."""
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    strategy = st.recursive(
        plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
    )
    found: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def keep(made: Any) -> None:
        found.append(made)

    keep()
    return tuple(found)
