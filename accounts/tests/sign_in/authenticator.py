"""An authenticator app as a person has it."""

import base64

from django_otp.oath import TOTP


class App:
    """An authenticator app with a secret."""

    def __init__(self, secret: str) -> None:
        self.key = base64.b32decode(secret)

    def code(self, steps: int = 0) -> str:
        """Return the current code, or that of some steps later."""
        totp = TOTP(self.key, drift=steps)
        return f"{totp.token():06d}"
