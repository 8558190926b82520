"""API addresses of relations."""

urlpatterns: list = []
