"""Budgets: the one table of them, and where each kind is counted (Redis, database, process).

Which request takes from which budget is decided in `accounts.rate_limits`.
"""
