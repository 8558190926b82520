"""The project as an app: commands that concern the whole site."""

from django.apps import AppConfig


class SocialsiteConfig(AppConfig):
    """Composition root; it may use every app."""

    name = "socialsite"
