"""API addresses of the core."""

from django.urls import path

from socialsite.core.media.api import MediaView
from socialsite.core.media.videos.api import OneUpload, OneVideo, Uploads, VideoCaptions, Videos

urlpatterns = [
    path("media", MediaView.as_view(), name="api_media"),
    path("media/uploads", Uploads.as_view(), name="api_uploads"),
    path("media/uploads/<str:ident>", OneUpload.as_view()),
    path("media/videos", Videos.as_view(), name="api_videos"),
    path("media/videos/<str:ident>", OneVideo.as_view()),
    path("media/videos/<str:ident>/captions/<str:language>", VideoCaptions.as_view()),
]
