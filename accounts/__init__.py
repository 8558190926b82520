"""People and their credentials, sign-ins, tokens, moderation and second factors.

Follows and blocks belong to `relations`. Modules at the root are those that every app has.
"""
