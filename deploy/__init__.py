"""Running the site: its services as child processes, the full stack, the test run.

Nothing in the site imports this package, and it imports nothing of the site.
"""
