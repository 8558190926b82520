"""Admin of the site's settings: one row, changed by admins."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.widgets import AdminTextareaWidget
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from accounts import actions, email_rules
from accounts.request_auth.requests import staff_of
from socialsite.core import site
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.errors import PayloadTooLarge, UnsupportedMedia
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.media import logos
from socialsite.core.models import SiteSettings
from socialsite.core.rights import Right

SIGN_UP = (
    "sign_up",
    "members_invite",
    *SiteSettings.QUESTIONS,
    "email_needed",
    *SiteSettings.DOMAINS,
)
HEX = frozenset("0123456789abcdef")


class SiteForm(forms.ModelForm):
    """The settings; a field that is left empty shows the value that it then has."""

    new_logo = forms.FileField(
        required=False,
        label=gettext_lazy("Logo"),
        help_text=gettext_lazy("JPEG, PNG, WEBP or GIF; best a square with at least 512 pixels."),
    )
    no_logo = forms.BooleanField(required=False, label=gettext_lazy("Show the logo of the design"))

    class Meta:
        model = SiteSettings
        fields = (
            *SiteSettings.TEXTS,
            "contact",
            *SIGN_UP,
            "accent",
            *SiteSettings.LIMITS,
        )
        widgets = dict.fromkeys(
            (*SiteSettings.TEXTS[1:], *SiteSettings.QUESTIONS, *SiteSettings.DOMAINS),
            AdminTextareaWidget({"rows": 3}),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        defaults = {"name": settings.SITE_NAME, **asdict(site.default_limits())}
        for name, value in defaults.items():
            self.fields[name].widget.attrs["placeholder"] = value
        sign_up = SiteSettings.SignUp(settings.SIGN_UP).label
        self._choose("sign_up", sign_up, SiteSettings.SignUp.choices)
        words = [("true", gettext("yes")), ("false", gettext("no"))]
        for name in ("videos", "link_previews"):
            self._choose(name, dict(words)[str(defaults[name]).lower()], words)

    def _choose(self, name: str, default: Any, choices: list[Any]) -> None:
        """Offer the default first."""
        empty = "" if name == "sign_up" else "unknown"
        text = gettext("as in the environment: %(value)s") % {"value": default}
        self.fields[name].widget.choices = [(empty, text), *choices]

    def clean(self) -> dict[str, Any]:
        """Write every text in one line; refuse invisible characters, which mails cannot carry."""
        values = super().clean() or self.cleaned_data
        for name in (*SiteSettings.TEXTS, *SiteSettings.QUESTIONS):
            values[name] = " ".join(values.get(name, "").split())
            if not values[name].isprintable():
                self.add_error(name, gettext("The text has invisible characters."))
        for name in SiteSettings.DOMAINS:
            domains, wrong = email_rules.domains_of(values.get(name, ""))
            values[name] = "\n".join(domains)
            if wrong:
                text = gettext("These are no domains: %(lines)s") % {"lines": ", ".join(wrong)}
                self.add_error(name, text)
        return values

    def clean_new_logo(self) -> dict[str, bytes]:
        """Return the files of the logo, {} for none chosen."""
        chosen = self.cleaned_data["new_logo"]
        try:
            return logos.made_of(chosen) if chosen else {}
        except (PayloadTooLarge, UnsupportedMedia) as error:
            raise ValidationError(str(error.detail)) from None

    def clean_accent(self) -> str:
        """Accept a colour as style sheets write it."""
        value = str(self.cleaned_data["accent"]).lower()
        is_colour = len(value) == len("#rrggbb") and value[0] == "#"
        if value and not (is_colour and HEX.issuperset(value[1:])):
            raise ValidationError(gettext("Write the colour as #rrggbb."))
        return value

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
    """One row that is always there: the list leads to it."""

    shown_to = Right.SITE

    form = SiteForm
    fieldsets = (
        (None, {"fields": (*SiteSettings.TEXTS, "contact")}),
        (gettext_lazy("Sign-up"), {"fields": SIGN_UP}),
        (gettext_lazy("Looks"), {"fields": ("accent", "new_logo", "no_logo")}),
        (gettext_lazy("Limits"), {"fields": SiteSettings.LIMITS}),
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

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
        values = dict(form.cleaned_data)
        logo, no_logo = values.pop("new_logo"), values.pop("no_logo")
        actions.change_site(values, staff_of(request), address_of(request))
        if logo or no_logo:
            actions.set_logo({} if no_logo else logo, staff_of(request), address_of(request))
