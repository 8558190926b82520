"""The sign-in flow: passwords, two-factor codes, failed attempts, devices.

Tokens that it ends with belong to `accounts.tokens`.
"""
