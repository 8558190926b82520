"""Pages of feeds."""

from django.urls import path

from feeds.views import (
    drafts,
    embed,
    feed_files,
    menu,
    pages,
    search,
    sharing,
    tags,
    welcome,
    writing,
)

urlpatterns = [
    path("", pages.home, name="home"),
    path("recommended", pages.recommended, name="recommended"),
    path("search", search.search, name="search"),
    path("@<str:username>", pages.profile, name="profile"),
    path("@<str:username>/feed.atom", feed_files.person_feed, name="person_feed"),
    path("posts", pages.post_create, name="post_create"),
    path("posts/<str:post_id>", pages.post, name="post"),
    path("posts/<str:post_id>/edit", pages.post_edit, name="post_edit"),
    path("posts/<str:post_id>/history", pages.post_history, name="post_history"),
    path("posts/<str:post_id>/menu", menu.post_menu, name="post_menu"),
    path("posts/<str:post_id>/embed", embed.post_embed, name="post_embed"),
    path("posts/<str:post_id>/embed/code", embed.post_embed_code, name="post_embed_code"),
    path("posts/<str:post_id>/delete", pages.post_delete, name="post_delete"),
    path("posts/<str:post_id>/rewrite", pages.post_rewrite, name="post_rewrite"),
    path("tags", tags.tags, name="tags"),
    path("tags/<str:name>", tags.tag, name="tag"),
    path("tags/<str:name>/feed.atom", feed_files.tag_feed, name="tag_feed"),
    path("oembed", sharing.oembed, name="oembed"),
    path("sitemap.xml", sharing.sitemap, name="sitemap"),
    path("robots.txt", sharing.robots),
    path("tags/<str:name>/follow", tags.tag_follow, name="tag_follow"),
    path("completions", writing.completions, name="completions"),
    path("emoji", writing.emoji, name="emoji"),
    path("welcome", welcome.welcome, name="welcome"),
    path("welcome/skip", welcome.skip, name="skip_welcome"),
    path("drafts", drafts.drafts, name="drafts"),
    path("drafts/<str:draft_id>", drafts.draft, name="draft"),
    path("drafts/<str:draft_id>/publish", drafts.draft_publish, name="draft_publish"),
    path("drafts/<str:draft_id>/delete", drafts.draft_delete, name="draft_delete"),
]
