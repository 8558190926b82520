"""Serializer fields with limits that those of DRF lack."""

from collections.abc import Callable, Sized
from typing import Any, cast

from django.core.validators import MaxLengthValidator
from rest_framework import serializers
from rest_framework.utils.formatting import lazy_format

from socialsite.core.text import clean


class _MaxStoredLength(MaxLengthValidator):
    """Count the characters that will be stored: a line end is one, however it was sent."""

    def __init__(self, most: int, message: Any, stored: Callable[[str], str]) -> None:
        super().__init__(most, message)
        self._stored = stored

    def clean(self, x: Any) -> int:
        """Return the length of a text as it is stored."""
        return len(self._stored(x))


class TextField(serializers.CharField):
    """A text that people write, as they wrote it, with at most `max_length` characters to store.

    `stored` returns what is stored of a text.
    """

    def __init__(
        self, *, max_length: int, stored: Callable[[str], str] = clean, **kwargs: Any
    ) -> None:
        super().__init__(trim_whitespace=False, **kwargs)
        text: Any = self.error_messages["max_length"]
        message: Any = lazy_format(text, max_length=max_length)
        self.validators.append(_MaxStoredLength(max_length, message, stored))


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
