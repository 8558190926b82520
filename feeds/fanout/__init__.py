"""Delivery of a post to its followers: plan, chunks, sweep, progress, live hints.

Reads of the feed belong to `feeds.home`.
"""
