"""The sender of a request: its tokens, cookies and service keys, and the check of each.

Tokens themselves belong to `accounts.tokens`.
"""
