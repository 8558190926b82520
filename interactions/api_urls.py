"""API addresses of interactions."""

from django.urls import path

from interactions import api

urlpatterns = [
    path("posts/<str:post_id>/like", api.PostLike.as_view()),
    path("posts/<str:post_id>/comments", api.PostComments.as_view()),
    path("comments/<str:comment_id>", api.OneComment.as_view()),
    path("comments/<str:comment_id>/like", api.CommentLike.as_view()),
    path("comments/<str:comment_id>/replies", api.Replies.as_view()),
]
