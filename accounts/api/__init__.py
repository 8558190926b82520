"""The JSON API of accounts: sign-up, sign-in, sign-out, people.

Pages belong to `accounts.views`. The rules that both follow belong to `accounts.actions`.
"""
