"""API addresses of interactions."""

urlpatterns: list = []
