"""Reading the home feed: viewer, sources, pull, merge, hydration.

Writing to inboxes belongs to `feeds.delivery.fanout` and `feeds.delivery.inbox`.
"""
