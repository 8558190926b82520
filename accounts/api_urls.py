"""API addresses of accounts."""

urlpatterns: list = []
