"""Pages of feeds."""

from django.urls import path

from feeds import views

urlpatterns = [
    path("", views.home, name="home"),
    path("recommended", views.recommended, name="recommended"),
    path("search", views.search, name="search"),
    path("@<str:username>", views.profile, name="profile"),
    path("posts", views.post_create, name="post_create"),
    path("posts/<str:post_id>", views.post, name="post"),
    path("posts/<str:post_id>/edit", views.post_edit, name="post_edit"),
    path("posts/<str:post_id>/history", views.post_history, name="post_history"),
    path("posts/<str:post_id>/delete", views.post_delete, name="post_delete"),
]
