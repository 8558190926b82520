"""Pages of accounts."""

urlpatterns: list = []
