"""Admin of the announcements."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminSplitDateTime, AdminTextareaWidget
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from accounts import actions
from accounts.request_auth.requests import staff_of
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.models import Announcement
from socialsite.core.rights import Right
from socialsite.core.text import clean


class AnnouncementForm(forms.ModelForm):
    """An announcement; times are in UTC."""

    class Meta:
        model = Announcement
        fields = (*Announcement.TEXTS, "starts_at", "ends_at", "for_guests")
        widgets = {
            **dict.fromkeys(Announcement.TEXTS, AdminTextareaWidget({"rows": 4})),
            **dict.fromkeys(("starts_at", "ends_at"), AdminSplitDateTime()),
        }
        field_classes = dict.fromkeys(("starts_at", "ends_at"), forms.SplitDateTimeField)
        help_texts = dict.fromkeys(("starts_at", "ends_at"), gettext_lazy("in UTC"))

    def clean(self) -> dict[str, Any]:
        """Ask for words, and for an end after the start."""
        values = super().clean() or self.cleaned_data
        for name in Announcement.TEXTS:
            values[name] = clean(values.get(name, ""))
        if not self.errors:
            if not any(values[name] for name in Announcement.TEXTS):
                raise ValidationError(gettext("Write a text in at least one language."))
            if values["ends_at"] <= values["starts_at"]:
                self.add_error("ends_at", gettext("The end must be after the start."))
        return values


@admin.register(Announcement)
class AnnouncementAdmin(ReadOnlyAdmin):
    """Announcements: those to come, those of now and those that are over."""

    shown_to = Right.SITE

    form = AnnouncementForm
    list_display = ("__str__", "starts_at", "ends_at", "for_guests")
    ordering = ("-starts_at", "-id")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def save_model(self, request: HttpRequest, obj: Announcement, form: Any, change: bool) -> None:
        """Store it, and record who did."""
        actions.save_announcement(obj, staff_of(request), address_of(request))

    def delete_model(self, request: HttpRequest, obj: Announcement) -> None:
        """Delete it, and record who did."""
        actions.delete_announcement(obj, staff_of(request), address_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Announcement]") -> None:
        """Delete the selected ones."""
        for row in queryset:
            self.delete_model(request, row)
