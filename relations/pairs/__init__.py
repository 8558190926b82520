"""The state machine of a pair of people, and the order of its locks.

Writes of pairs belong to `relations.actions`.
"""
