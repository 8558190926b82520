"""placeholder"""

from django.contrib.auth.middleware import AuthenticationMiddleware


class TokenMiddleware(AuthenticationMiddleware):
    pass
