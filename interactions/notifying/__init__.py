"""Turns facts into notifications.

The pages and lists of notifications belong to `interactions.queries` and `interactions.views`.

In the relay, `causes` works out whom a fact concerns and stores that; `fold` groups the causes of
one reader; `retention` deletes old groups. A new kind is one entry in `kinds`.
"""
