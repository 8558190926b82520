"""One person's inbox: backfill and purge after a follow, trim, rebuild.

Delivery of a new post belongs to `feeds.delivery.fanout`.
"""
