"""The JSON API of interactions: likes, comments, reposts, bookmarks, reports, notifications.

Pages belong to `interactions.views`. The rules that both follow belong to `interactions.actions`.
"""
