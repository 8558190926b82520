"""Limits of interactions, taken at the entry. Without Redis they let everything pass."""

from socialsite.core.ratelimit import Bucket

COMMENT = Bucket("comment", capacity=60, rate=1 / 5)
# Likes and bookmarks, and taking them back, which costs the same (as T27).
MARK = Bucket("mark", capacity=300, rate=3)
# Reports end with people who read them.
REPORT = Bucket("report", capacity=20, rate=20 / 3600)
