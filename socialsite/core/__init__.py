"""The bottom layer: HTTP, events, caches, Redis, database helpers, uploads, the process.

No module here knows people, posts or any other model of an app.
"""
