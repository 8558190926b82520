"""Admin of the site's longer texts: a row for each version, written by admins."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminTextareaWidget
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy

from accounts import actions
from accounts.request_auth.requests import staff_of
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.models import SiteDocument
from socialsite.core.rights import Right
from socialsite.core.site import documents
from socialsite.core.text import without_controls


class DocumentForm(forms.ModelForm):
    """A new version of a text; it begins as the current one."""

    is_needed = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("Everybody must accept this version"),
        help_text=gettext_lazy("For the terms of use only."),
    )

    class Meta:
        model = SiteDocument
        fields = ("kind", *SiteDocument.TEXTS)
        widgets = dict.fromkeys(SiteDocument.TEXTS, AdminTextareaWidget({"rows": 20}))
        help_texts = dict.fromkeys(
            SiteDocument.TEXTS,
            gettext_lazy("Markdown. Without words in both languages the site has no such text."),
        )

    def clean(self) -> dict[str, Any]:
        """Take away invisible controls."""
        values = super().clean() or self.cleaned_data
        for name in SiteDocument.TEXTS:
            values[name] = without_controls(values.get(name, "")).strip()
        return values


@admin.register(SiteDocument)
class SiteDocumentAdmin(ReadOnlyAdmin):
    """The versions of the texts of the site, newest first. A change is a new version."""

    shown_to = Right.SITE

    list_display = ("kind", "version", "published_at")
    list_filter = ("kind",)
    ordering = ("-id",)
    readonly_fields = ("version", "published_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return True with the right to change the site."""
        return self.has_site_permission(request)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form of a new version; an old one is only shown."""
        return super().get_form(
            request, obj, change, **kwargs | ({} if obj else {"form": DocumentForm})
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what is shown of a version, or asked for a new one."""
        texts = ("kind", *SiteDocument.TEXTS)
        return (*texts, "version", "published_at") if obj else (*texts, "is_needed")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin with the current version of the text `?kind=`."""
        kind = request.GET.get("kind", "")
        if kind not in documents.Kind.values:
            return {}
        row = documents.newest(documents.Kind(kind))
        return {"kind": kind} | {name: getattr(row, name, "") for name in SiteDocument.TEXTS}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Offer a new version of each text."""
        add = reverse("admin:core_sitedocument_add")
        new = [(f"{add}?kind={kind.value}", kind.label) for kind in documents.Kind]
        return super().changelist_view(request, (extra_context or {}) | {"new_versions": new})

    def save_model(self, request: HttpRequest, obj: SiteDocument, form: Any, change: bool) -> None:
        """Publish the version, and record who did."""
        values = form.cleaned_data
        columns = {name: values[name] for name in SiteDocument.TEXTS}
        made = actions.publish_document(
            documents.Kind(values["kind"]),
            columns,
            staff_of(request),
            address_of(request),
            is_needed=values["is_needed"],
        )
        obj.pk, obj.version = made.pk, made.version
