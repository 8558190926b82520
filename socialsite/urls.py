"""All addresses: pages, API, admin, sockets."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import set_language

from feeds.api.urls import person_patterns
from relations.api.urls import suggestion_patterns
from socialsite.api.announcements import Announcements, Dismissal
from socialsite.api.exports import ExportFile, Exports, OneExport
from socialsite.api.imports import Imports, OneImport, Start, Undo
from socialsite.api.schema import DocsView, SchemaView
from socialsite.api.site import OneSite
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes
from socialsite.core.site.documents import Kind
from socialsite.doctor.pages import doctor
from socialsite.metrics.views import metrics
from socialsite.pages import exports, imports, logo, views, web_app
from socialsite.pages.accent import stylesheet
from socialsite.pages.announcements import dismiss
from socialsite.pages.content_preferences import reading
from socialsite.pages.documents import document
from socialsite.pages.media_files import uploaded
from socialsite.pages.security_txt import security_txt

handler400 = views.bad_request
handler403 = views.permission_denied
handler404 = views.not_found
handler500 = views.server_error

# The most requested addresses come first: they are compared in order.
api_v1: list[URLPattern | URLResolver] = [
    path("", include("feeds.api.urls")),
    path("", include(suggestion_patterns)),
    path("", include("accounts.api.urls")),
    path("", include(person_patterns)),
    path("", include("relations.api.urls")),
    path("", include("interactions.api.urls")),
    path("", include("socialsite.core.media.urls")),
    path("exports", Exports.as_view()),
    path("exports/<str:export_id>", OneExport.as_view()),
    path("exports/<str:export_id>/file", ExportFile.as_view()),
    path("imports", Imports.as_view()),
    path("imports/<str:import_id>", OneImport.as_view()),
    path("imports/<str:import_id>/start", Start.as_view()),
    path("imports/<str:import_id>/undo", Undo.as_view()),
    path("site", OneSite.as_view()),
    path("announcements", Announcements.as_view()),
    path("announcements/<str:announcement_id>/dismiss", Dismissal.as_view()),
]

choose_language = require_POST(takes(POST=(budgets.LANGUAGE,))(set_language))

urlpatterns = [
    path("api/v1/", include(api_v1)),
    path("", include("feeds.urls")),
    path("", include("accounts.urls")),
    path("", include("relations.urls")),
    path("", include("interactions.urls")),
    path("i18n/setlang/", choose_language, name="set_language"),
    path("admin/doctor/", admin.site.admin_view(doctor), name="doctor"),
    path("admin/", admin.site.urls),
    path("api/schema/", require_safe(SchemaView.as_view()), name="schema"),
    path("api/docs/", require_safe(DocsView.as_view()), name="docs"),
    re_path(r"^api/", csrf_exempt(views.not_found)),
    path(".well-known/security.txt", security_txt),
    path("favicon.ico", views.favicon),
    path("manifest.webmanifest", web_app.manifest, name="manifest"),
    path("accent/<str:colour>.css", stylesheet, name="accent"),
    path("logo/<str:logo>/<str:name>.png", logo.file, name="logo"),
    path("sw.js", web_app.worker, name="worker"),
    path("offline", web_app.offline, name="offline"),
    *(path(kind.value, document, {"kind": kind}, name=kind.value) for kind in Kind),
    path("announcements/<str:announcement_id>/dismiss", dismiss, name="dismiss_announcement"),
    path("settings/export", exports.show, name="export"),
    path("settings/export/<str:export_id>/file", exports.fetch, name="export_file"),
    path("settings/import", imports.show, name="import"),
    path("settings/import/<str:import_id>/start", imports.start, name="import_start"),
    path("settings/import/<str:import_id>/undo", imports.undo, name="import_undo"),
    path("settings/reading", reading, name="reading"),
    path("healthz", views.healthz),
    path("readyz", views.readyz),
    path("metrics", metrics),
    path("media/<path:path>", uploaded),
]
