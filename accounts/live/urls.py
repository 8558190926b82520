"""WebSocket URLs."""

from django.urls import path

from accounts.live.consumers import SessionConsumer

urlpatterns = [path("ws/session/", SessionConsumer.as_asgi())]
