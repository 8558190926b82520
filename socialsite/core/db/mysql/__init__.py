"""The database engine of the full stack: Django's MySQL backend with a cheaper connection check.

Helpers for statements belong to `socialsite.core.db`.
"""
