"""WebSocket addresses."""

websocket_urlpatterns: list = []
urlpatterns = websocket_urlpatterns
