"""The column of a person in the tables of feeds."""

from typing import Any

from django.db import models


def user_key() -> "models.ForeignKey[Any, Any]":
    """Return a user column without a database constraint, so hot tables can be sharded by user."""
    return models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
