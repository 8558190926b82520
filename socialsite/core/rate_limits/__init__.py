"""Budgets: the one table of them, what a request takes, and where tokens are counted.

A view names its own budgets with `takes`.
"""
