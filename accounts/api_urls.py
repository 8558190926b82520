"""API addresses of accounts."""

from django.urls import path

from accounts import api

urlpatterns = [
    path("auth/register", api.Register.as_view()),
    path("auth/login", api.Login.as_view()),
    path("auth/refresh", api.Refresh.as_view()),
    path("auth/logout", api.Logout.as_view()),
    path("users", api.Users.as_view()),
    path("users/me", api.Me.as_view()),
    path("users/by-name/<str:username>", api.UserByName.as_view()),
    path("users/<str:user_id>", api.UserById.as_view()),
]
