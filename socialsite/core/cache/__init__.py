"""Cached facts of the database: leases, the read pipeline, unpacked values of a process.

The `cache` module of an app says what it caches, and under which keys.
"""
