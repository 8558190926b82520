"""The JSON API of posts and feeds: addresses, views and the shapes of answers.

Rules that pages follow too belong to `feeds.actions` and `feeds.queries`.
"""
