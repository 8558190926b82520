"""Parts shared by all requests: the API envelope, errors, paging, bounds on clients.

Addresses of the domain apps belong to their `api` and `views`.
"""
