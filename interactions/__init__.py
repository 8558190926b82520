"""Likes, comments, reposts, bookmarks, reports and notifications.

The posts that these refer to belong to `feeds`. As the highest app, it may use all others.
"""
