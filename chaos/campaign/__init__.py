"""One site under attack: the order of the parts, the journal of results, the client that checks.

Choosing the sites and printing the summary belong to `chaos.attack`.
"""
