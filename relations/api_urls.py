"""API URLs of relations."""

from django.urls import path

from relations import api

urlpatterns = [
    path("users/me/blocked", api.BlockedPeople.as_view()),
    path("users/<str:user_id>/follow", api.Follow.as_view()),
    path("users/<str:user_id>/block", api.Block.as_view()),
    path("users/<str:user_id>/following", api.SearchablePeople.as_view(kind="following")),
    path("users/<str:user_id>/followers", api.People.as_view(kind="followers")),
    path("users/<str:user_id>/friends", api.SearchablePeople.as_view(kind="friends")),
    path("relations", api.Relations.as_view()),
]
