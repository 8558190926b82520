"""Limits of interactions, taken at the entry. Without Redis they let everything pass."""

from socialsite.core.ratelimit import Bucket

# Reports end with people who read them.
REPORT = Bucket("report", capacity=20, rate=20 / 3600)
