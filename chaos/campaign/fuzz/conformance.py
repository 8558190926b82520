"""Comparison of responses with the site's OpenAPI document."""

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from chaos.campaign.fuzz.schema import Operation
from chaos.campaign.site.requests import Answer

# Every address may give these to an odd path or body; the document does not list them each time.
ALWAYS = ("404", "413", "415")
# Web servers refuse malformed and long addresses so, before the API reads the request.
OF_WEB_SERVERS = ("400", "414")
ERROR = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}


class Conformance:
    """Compares responses with a document; for one thread."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.validators: dict[tuple[str, str, str], Draft202012Validator] = {}

    def violation(self, operation: Operation, answer: Answer) -> str:
        """Return a contradiction of a response to the document, "" if there is none."""
        if not 0 < answer.status < 500:
            return ""  # the journal judges these
        status, kind = str(answer.status), answer.header("Content-Type").partition(";")[0]
        if status in OF_WEB_SERVERS and kind != "application/json":
            return ""
        response = self._response(operation, status)
        if response is None:
            return f"{status} is not documented"
        content = response.get("content", {})
        if not content:
            return f"a body of {status} is not documented" if answer.body else ""
        if kind not in content:
            return f"{kind or 'no content type'} of {status} is not documented"
        place = operation.method, operation.path, status
        if place not in self.validators:
            components = {"components": self.document["components"]}
            self.validators[place] = Draft202012Validator(content[kind]["schema"] | components)
        wrong = best_match(self.validators[place].iter_errors(answer.json()))
        return f"{wrong.json_path} of {status}: {wrong.message[:200]}" if wrong else ""

    def _response(self, operation: Operation, status: str) -> dict[str, Any] | None:
        """Return the description of a response, None if there is none."""
        item = self.document["paths"][operation.path][operation.method.lower()]
        responses: dict[str, Any] = item["responses"]
        default = ERROR if status in ALWAYS else None
        return responses.get(status, responses.get(f"{status[0]}XX", default))
