"""The sign-in flow: passwords, two-factor codes, failed attempts, devices, their IP addresses.

Tokens that it ends with belong to `accounts.tokens`.
"""
