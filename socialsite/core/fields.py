"""Fields of the API's input that DRF has not, or not bounded."""

from collections.abc import Sized
from typing import Any, cast

from rest_framework import serializers


class ShortListField(serializers.ListField):
    """A list with a `max_length` that is checked before its items are.

    DRF checks it after them: a body full of wrong items cost seconds, and got an error for each.
    """

    def run_child_validation(self, data: Any) -> Any:
        """Check the items of a list that is not too long."""
        if self.max_length is not None and len(cast("Sized", data)) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_child_validation(data)
