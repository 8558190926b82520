"""API addresses of feeds."""

from django.urls import path

from feeds.api import drafts, preview, search, tags, views

urlpatterns = [
    path("feed", views.HomeFeed.as_view()),
    path("posts", views.Posts.as_view()),
    path("posts/<str:post_id>", views.OnePost.as_view()),
    path("posts/<str:post_id>/history", views.History.as_view()),
    path("posts/<str:post_id>/audience", views.PostAudience.as_view()),
    path("drafts", drafts.Drafts.as_view()),
    path("drafts/<str:draft_id>", drafts.OneDraft.as_view()),
    path("drafts/<str:draft_id>/publish", drafts.Publish.as_view()),
    path("preview", preview.Preview.as_view()),
    path("feed/new-count", views.NewCount.as_view()),
    path("feed/recommended", views.Recommended.as_view()),
    path("feed/rising", views.Rising.as_view()),
    path("feed/tags", tags.TagsFeed.as_view()),
    path("search/posts", search.SearchPosts.as_view()),
    path("tags", tags.Tags.as_view()),
    path("tags/trending", tags.Trending.as_view()),
    path("tags/<str:name>", tags.OneTag.as_view()),
    path("tags/<str:name>/posts", tags.TagPosts.as_view()),
    path("tags/<str:name>/follow", tags.TagFollow.as_view()),
]
# After `users/by-name/…` of accounts, which they would match as well.
person_patterns = [
    path("users/<str:user_id>/posts", views.UserPosts.as_view()),
    path("users/<str:user_id>/replies", views.UserReplies.as_view()),
    path("users/<str:user_id>/likes", views.UserLikes.as_view()),
]
