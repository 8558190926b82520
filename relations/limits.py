"""Limits of relations, taken at the entry (D9, T27).

Without Redis they let everything pass and no budget is told: the limit keeps the work of backfills
and purges fair, the follow cap, which the database holds, stands in any case.
"""

from socialsite.core.ratelimit import Bucket

# One bucket for follow and unfollow, or churning the two would cost unlimited backfills (D9, T27).
FOLLOW = Bucket("follow", capacity=100, rate=1)
