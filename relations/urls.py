"""Pages of relations."""

urlpatterns: list = []
