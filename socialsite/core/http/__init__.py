"""The HTTP layer of all apps: errors, JSON, paging, idempotency, and limits on requests.

Addresses and their views belong to the apps; budgets of people belong to `core.rate_limits`.
"""
