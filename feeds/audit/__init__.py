"""Checks of feeds against their definition: verify, explain, the cache audit.

Nothing on the path of a request is here.
"""
