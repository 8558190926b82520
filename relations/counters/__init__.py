"""Counts of followers and followed people: how they follow the rows, and the recount.

The states of the rows that are counted belong to `relations.pairs`.
"""
