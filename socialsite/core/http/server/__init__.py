"""The servers that accept requests: bounds of headers, bodies and slow work, and HSTS.

Budgets of people belong to `core.rate_limits`.
"""
