"""Example service that accepts the site's sign-ins: `SITE=https://… python second_service.py`.

SERVICE_KEY is one of the keys in the site's SERVICE_KEYS.
"""

import json
import os
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

import jwt

SITE = os.environ.get("SITE", "http://127.0.0.1:8000")
KEY = os.environ.get("SERVICE_KEY", "")
KEYS = jwt.PyJWKClient(f"{SITE}/.well-known/jwks.json", timeout=5)
RULES = {"audience": "socialsite", "issuer": "socialsite", "leeway": 10}


def signed(token):  # offline: true until the token expires, even if it was revoked
    claims = jwt.decode(token, KEYS.get_signing_key_from_jwt(token), **RULES)
    return claims.get("typ") == "access"  # only the site itself accepts refresh tokens


def active(token):  # online: the site knows every log-out, kick and ban
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    body = json.dumps({"token": token}).encode()
    request = Request(f"{SITE}/api/v1/auth/introspect", body, headers)
    return json.load(urlopen(request, timeout=5))["active"]


def app(environ, start_response):
    token = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
    try:
        allowed = signed(token) and (environ["PATH_INFO"] != "/pay" or active(token))
        status = "200 OK" if allowed else "401 Unauthorized"
    except (jwt.PyJWKClientConnectionError, OSError):  # without an answer, refuse
        status = "503 Service Unavailable"
    except jwt.PyJWTError:
        status = "401 Unauthorized"
    start_response(status, [("Content-Type", "text/plain")])
    return [f"{status}\n".encode()]


make_server("127.0.0.1", int(os.environ.get("PORT", "9000")), app).serve_forever()
