"""Delivery of a post to its followers: tiers, plan, chunks, sweep, progress, live hints.

Reads of the feed belong to `feeds.home`.
"""
