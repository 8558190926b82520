"""Pages of interactions."""

urlpatterns: list = []
