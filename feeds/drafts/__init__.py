"""Drafts: unpublished posts of their authors, and their publication at a given time.

How a post is published is in `feeds.actions`.
"""
