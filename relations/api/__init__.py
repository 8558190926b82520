"""The JSON API of follows, blocks and their lists: addresses, views and the shapes of answers.

Rules that pages follow too belong to `relations.actions` and `relations.queries`.
"""
