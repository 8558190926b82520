"""Limits of interactions, taken at the entry. Without Redis they let everything pass."""

from socialsite.core.ratelimit import Bucket

COMMENT = Bucket("comment", capacity=60, rate=1 / 5)
# What can be done and undone without end, and costs the same each time (as T27): likes, bookmarks,
# pins, settings of comments, reposts taken back.
MARK = Bucket("mark", capacity=300, rate=3)
# Reports end with people who read them.
REPORT = Bucket("report", capacity=20, rate=20 / 3600)
