"""Rules of the names that people show, under NAME_POLICY=open.

The rule of NAME_POLICY=seed and the rules of usernames are in `accounts.validators`.
"""
