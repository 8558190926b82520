"""Project package: composition root and core."""

from socialsite.celery import app as celery_app

__all__ = ["celery_app"]
