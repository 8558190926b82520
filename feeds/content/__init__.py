"""The parts of a post besides its row: plain words, polls, link previews, and its audience.

Tags and the search belong to `feeds.discovery`, unpublished posts to `feeds.drafts`.
"""
