"""Limits of publishing, taken at the entry. Without Redis they let everything pass."""

from socialsite.core.ratelimit import Bucket

# Posts and reposts alike: each is delivered to everybody who follows.
PUBLISH = Bucket("publish", capacity=60, rate=1 / 30)
