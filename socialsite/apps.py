"""The project as an app: commands that concern the whole site."""

from django.apps import AppConfig, apps
from django.contrib import admin

# The application that `shared_task` and `current_app` refer to. Not in the package itself: the
# supervisor of the stack imports that too, and needs no Celery.
from socialsite.celery import app as celery_app
from socialsite.core import field_labels
from socialsite.core.telemetry import processes
from socialsite.metrics import tasks, tracing  # noqa: F401  (measures tasks)

__all__ = ["SocialsiteConfig", "celery_app"]


class SocialsiteConfig(AppConfig):
    """Composition root; it may use every app."""

    name = "socialsite"

    def ready(self) -> None:
        """Translate the labels of all models, and give the admin its first page."""
        field_labels.translate(apps.get_models())
        admin.site.index_template = "socialsite/staff_home.html"
        processes.watch()
        tracing.start()
