"""Answers of the API as tests read them: errors, ids, and lists to their end."""

from typing import Any

from rest_framework.test import APIClient

V1 = "/api/v1/"


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json()
    return [item["id"] for item in answer.json()["items"]]


def assert_error(answer: Any, status: int, name: str, *fields: str) -> None:
    assert (answer.status_code, answer.json()["error"]) == (status, name)
    assert set(answer.json().get("fields", ())) == set(fields)


def walk(client: APIClient, path: str, **params: Any) -> list[list[str]]:
    """Read a list page by page to its end, by its cursors."""
    pages = []
    while True:
        answer = client.get(V1 + path, params)
        pages.append(ids(answer))
        if answer.json()["next"] is None:
            return pages
        params["cursor"] = answer.json()["next"]
