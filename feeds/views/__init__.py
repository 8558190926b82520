"""Pages of feeds: `pages` has those of posts, `drafts` those of drafts.

A page reads through queries and writes through actions.
"""
