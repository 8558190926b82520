"""Polls: what a poll of a post is, and its end.

The votes and their counts are in `interactions`.
"""
