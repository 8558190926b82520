"""How people find posts: tags and the search.

The home feed, and posts of one author, belong to `feeds.home` and `feeds.queries`.
"""
