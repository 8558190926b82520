"""How posts reach inboxes: the delivery of new posts, and the upkeep of inboxes.

Reading a feed belongs to `feeds.home`.
"""
