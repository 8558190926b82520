"""Pages of relations."""

from django.urls import path

from relations import views

urlpatterns = [
    *(
        path(f"@<str:username>/{kind}", views.people, {"kind": kind}, name=f"profile_{kind}")
        for kind in ("following", "followers", "friends")
    ),
    path("@<str:username>/follow", views.follow, name="follow"),
    path("@<str:username>/remove", views.remove, name="remove_follower"),
    path("@<str:username>/block", views.block, name="block"),
    path("suggestions", views.suggested, name="suggested"),
    path("suggestions/<str:user_id>/dismiss", views.dismiss, name="dismiss"),
    path("settings/blocked", views.blocked, name="blocked"),
]
