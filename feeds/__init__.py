"""Posts, and the lists that show them: home feed, profile, discover, single post.

Likes, comments, reposts and bookmarks belong to `interactions`. Modules at the root are those that
every app has.
"""
