"""API addresses of the core."""

from django.urls import path

from socialsite.core.media.api import MediaView

urlpatterns = [
    path("media", MediaView.as_view(), name="api_media"),
]
