"""The sign-in flow: failed attempts, known devices, guarded changes of credentials.

Passwords and codes belong to `accounts.credentials`, tokens to `accounts.tokens`.
"""
