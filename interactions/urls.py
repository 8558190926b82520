"""Pages of interactions."""

from django.urls import path

from interactions import views

urlpatterns = [
    path("posts/<str:post_id>/like", views.post_like, name="post_like"),
    path("posts/<str:post_id>/comments", views.comment_create, name="comment_create"),
    path("comments/<str:comment_id>/delete", views.comment_delete, name="comment_delete"),
]
