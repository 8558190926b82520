"""Running the site: its services as child processes, the full stack, the test run.

Nothing in the site imports this package. Of the site it imports only modules that need no settings.
"""
