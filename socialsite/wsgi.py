"""WSGI entry: HTTP in the full stack."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")

application = get_wsgi_application()
