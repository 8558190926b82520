"""Polls: the definition of a poll of a post, and its end.

The votes and their counts are in `interactions`.
"""
