"""API addresses of the core."""

from django.urls import path

from socialsite.core.media.api import MediaView
from socialsite.core.media.videos.api import OneVideo, Videos

urlpatterns = [
    path("media", MediaView.as_view(), name="api_media"),
    path("media/videos", Videos.as_view(), name="api_videos"),
    path("media/videos/<str:ident>", OneVideo.as_view()),
]
