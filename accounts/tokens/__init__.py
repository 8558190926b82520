"""Tokens: their keys, claims, minting, decoding and floors, without requests and without rows.

The rows behind them are written by `accounts.actions`; requests belong to `accounts.request_auth`.
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
