"""API URLs of relations."""

from django.urls import path

from relations.api import suggestions, views

# Before the addresses of one person, which would take `suggested` for an id.
suggestion_patterns = [
    path("users/new", views.NewPeople.as_view()),
    path("users/suggested", suggestions.Suggested.as_view()),
    path("users/suggested/<str:user_id>", suggestions.OneSuggestion.as_view()),
]
urlpatterns = [
    path("users/me/blocked", views.BlockedPeople.as_view()),
    path("users/<str:user_id>/follow", views.Follow.as_view()),
    path("users/<str:user_id>/follower", views.Follower.as_view()),
    path("users/<str:user_id>/block", views.Block.as_view()),
    path("users/<str:user_id>/following", views.SearchablePeople.as_view(kind="following")),
    path("users/<str:user_id>/followers", views.People.as_view(kind="followers")),
    path("users/<str:user_id>/friends", views.SearchablePeople.as_view(kind="friends")),
    path("relations", views.Relations.as_view()),
]
