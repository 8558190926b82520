"""How long browsers must come back by https once they did (HSTS), said by the site and by nginx."""

HSTS_SECONDS = 63_072_000  # two years
HSTS = f"max-age={HSTS_SECONDS}; includeSubDomains; preload"
