"""The parts of all pages: the Jinja environment, middleware, error pages, addresses of pictures.

Pages of the domain belong to the apps' `views`.
"""
