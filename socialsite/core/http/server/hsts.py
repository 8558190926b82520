"""HSTS: how long browsers use only https after a visit; sent by the site and by nginx."""

HSTS_SECONDS = 63_072_000  # two years
HSTS = f"max-age={HSTS_SECONDS}; includeSubDomains; preload"
