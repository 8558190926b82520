"""API addresses of feeds."""

from django.urls import path

from feeds import api

urlpatterns = [
    path("feed", api.HomeFeed.as_view()),
    path("posts", api.Posts.as_view()),
    path("posts/<str:post_id>", api.OnePost.as_view()),
    path("users/<str:user_id>/posts", api.UserPosts.as_view()),
    path("feed/new-count", api.NewCount.as_view()),
    path("feed/recommended", api.Recommended.as_view()),
]
