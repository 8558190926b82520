"""HTML pages of accounts and their forms: sign-in, sign-up, settings, recovery.

JSON views belong to `accounts.api`. The rules that both follow belong to `accounts.actions`.
"""
