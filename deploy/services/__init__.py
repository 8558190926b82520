"""Processes that the site needs, each as a `Service`: its own, MariaDB, Redis and nginx.

Which of them run together belongs to `deploy.stack`.
"""
