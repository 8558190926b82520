"""Follows and blocks between two people, their histories, and the counts of followers.

Posts that a follow brings into a feed belong to `feeds`; lists of people read `accounts` for names.
"""
