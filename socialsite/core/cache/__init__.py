"""Cached facts of the database: leases, the read pipeline, unpacked values of a process.

What an app caches, and under which keys, belongs to its `cache` module.
"""
