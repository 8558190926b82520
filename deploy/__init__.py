"""Programs that run the site: services as child processes, the full stack. `dev` is for developers.

The site never imports this package. This package imports only modules of the site that need no
settings.
"""
