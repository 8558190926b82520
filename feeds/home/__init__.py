"""Reading the home feed: viewer, sources, pull, merge, hydration.

Writing to inboxes belongs to `feeds.fanout` and `feeds.inbox`.
"""
