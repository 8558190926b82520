"""Tokens: their keys, claims, minting, decoding, revocation check and transport in a request.

The rows behind them are written by `accounts.actions`; passwords belong to `accounts.sign_in`.
"""

from accounts.tokens.claims import AccessToken, Principal, TokenId
from accounts.tokens.decoding import decode_access, decode_any, decode_refresh
from accounts.tokens.floors import compare
from accounts.tokens.minting import TokenPair, mint, new_token_id

__all__ = [
    "AccessToken",
    "Principal",
    "TokenId",
    "TokenPair",
    "compare",
    "decode_access",
    "decode_any",
    "decode_refresh",
    "mint",
    "new_token_id",
]
