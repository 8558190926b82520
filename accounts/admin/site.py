"""Admin of the site's settings: one row, changed by admins."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext

from accounts import actions, email_rules
from accounts.request_auth.requests import staff_of
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.models import SiteSettings


class SiteForm(forms.ModelForm):
    """The settings; a field that is left empty shows the value that it then has."""

    class Meta:
        model = SiteSettings
        fields = (*SiteSettings.TEXTS, "contact", "sign_up")
        widgets = dict.fromkeys(SiteSettings.TEXTS[1:], forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].widget.attrs["placeholder"] = settings.SITE_NAME
        default = SiteSettings.SignUp(settings.SIGN_UP).label
        choices = [("", gettext("as in the environment: %(value)s") % {"value": default})]
        self.fields["sign_up"].choices = [*choices, *SiteSettings.SignUp.choices]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Write every text in one line; refuse invisible characters, which mails cannot carry."""
        values = super().clean() or self.cleaned_data
        for name in SiteSettings.TEXTS:
            values[name] = " ".join(values.get(name, "").split())
            if not values[name].isprintable():
                self.add_error(name, gettext("The text has invisible characters."))
        return values

    def clean_contact(self) -> str:
        """Accept an e-mail address or the address of a page."""
        value = str(self.cleaned_data["contact"])
        if value.startswith("https://"):
            URLValidator(schemes=["https"])(value)
        elif value and email_rules.mistakes(value):
            raise ValidationError(gettext("Give an e-mail address, or a page: https://…"))
        return value


@admin.register(SiteSettings)
class SiteSettingsAdmin(ReadOnlyAdmin):
    """One row that is always there, for admins: the list leads to it."""

    form = SiteForm

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True for admins."""
        return self.has_administer_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for admins."""
        return self.has_administer_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for admins."""
        return self.has_administer_permission(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead to the row."""
        row = reverse("admin:core_sitesettings_change", args=(SiteSettings.THE_ROW,))
        return HttpResponseRedirect(row)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Return the row, a new one if nothing was set yet."""
        found = super().get_object(request, object_id, from_field)
        return found or (SiteSettings() if object_id == str(SiteSettings.THE_ROW) else None)

    def save_model(self, request: HttpRequest, obj: SiteSettings, form: Any, change: bool) -> None:
        """Change what the form says, and record who did."""
        actions.change_site(form.cleaned_data, staff_of(request), address_of(request))
