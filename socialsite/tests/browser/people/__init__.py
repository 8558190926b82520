"""Signing in, relations and settings in a real browser."""
