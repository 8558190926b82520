"""Pages of feeds."""

urlpatterns: list = []
