"""Passwords and second factors, with which people sign in."""
