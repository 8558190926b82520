"""The access matrix: every address as every viewer, over HTTP, sockets and the admin.

The tables that say who sees what belong to `socialsite/tests/blocks`.
"""
