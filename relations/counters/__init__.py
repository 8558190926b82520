"""Counts of followers and followed people: how they follow the rows, and the recount."""
