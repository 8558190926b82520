"""Tokens: their keys, claims, minting, decoding, revocation check and transport in a request.

The rows behind them are written by `accounts.actions`; passwords belong to `accounts.sign_in`.
"""

from accounts.tokens.claims import AccessToken, Mark, Principal
from accounts.tokens.decoding import decode_access, decode_any, decode_refresh
from accounts.tokens.floors import compare
from accounts.tokens.minting import TokenPair, mint, new_mark

__all__ = [
    "AccessToken",
    "Mark",
    "Principal",
    "TokenPair",
    "compare",
    "decode_access",
    "decode_any",
    "decode_refresh",
    "mint",
    "new_mark",
]
