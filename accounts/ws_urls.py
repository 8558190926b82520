"""WebSocket addresses."""

from django.urls import path

from accounts.consumers import SessionConsumer

websocket_urlpatterns = [path("ws/session/", SessionConsumer.as_asgi())]
urlpatterns = websocket_urlpatterns
