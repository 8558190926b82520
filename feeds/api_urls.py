"""API addresses of feeds."""

urlpatterns: list = []
