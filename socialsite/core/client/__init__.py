"""Requests of the site to other machines: fetches, and messages to push services.

Answers of the site belong to `core.http`, its sockets to `accounts.live`.
"""
