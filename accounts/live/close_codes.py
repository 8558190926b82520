"""The codes with which the site closes a WebSocket; docs/api.md says what clients do then."""

SIGNED_OUT, REAUTHENTICATE, TRY_LATER, TOO_BIG, TOO_MUCH = 4001, 4002, 1013, 1009, 4008
