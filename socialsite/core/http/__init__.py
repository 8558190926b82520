"""The HTTP layer of all apps: JSON, forms, addresses, headers, and the limits of the server.

Addresses and their views belong to the apps; budgets of people belong to `core.rate_limits`.
"""
