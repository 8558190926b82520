"""Serializer fields with limits that those of DRF lack."""

from collections.abc import Sized
from typing import Any, cast

from rest_framework import serializers


class ShortListField(serializers.ListField):
    """A list whose `max_length` is checked before its items.

    DRF checks the items first: a body full of invalid items cost seconds and got an error for each.
    """

    def run_child_validation(self, data: Any) -> Any:
        """Check the items of a list that is short enough."""
        if self.max_length is not None and len(cast("Sized", data)) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_child_validation(data)


class ShortDictField(serializers.DictField):
    """An object whose number of keys is checked before its items, as in `ShortListField`."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        self.max_length = max_length
        super().__init__(**kwargs)

    def run_child_validation(self, data: Any) -> Any:
        """Check the items of an object that is small enough."""
        if len(data) > self.max_length:
            message = serializers.ListField.default_error_messages["max_length"]
            raise serializers.ValidationError(message.format(max_length=self.max_length))
        return super().run_child_validation(data)
