"""Limits of relations, taken at the entry. Without Redis they let everything pass (T27)."""

from socialsite.core.ratelimit import Bucket

# One bucket for follow and unfollow, or churning the two would cost unlimited backfills (D9, T27).
FOLLOW = Bucket("follow", capacity=100, rate=1)
