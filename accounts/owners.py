"""The places of the tables of accounts: a person with everything about their sign-in."""

from socialsite.core.sharding import Owned, Places, Whole

_STAFF = "Only staff write it, and a person reads it on one page."
_SIGN_UP = "Only registrations write and read it, and they end in one row of a person."

PLACES: Places = {
    # People without an address have the same empty `email_key`.
    "accounts_user": Owned("id", lookups=("username_key",), shared=("email_key",)),
    "accounts_tokenversion": Owned("user_id"),
    "accounts_tokenbatch": Owned("user_id"),
    "accounts_signin": Owned("user_id"),
    "accounts_passkey": Owned("user_id", lookups=("credential_hash",)),
    "accounts_pushsubscription": Owned("user_id", lookups=("endpoint_hash",)),
    "accounts_closing": Owned("user_id"),
    "accounts_nameterm": Owned("object_id", reason="each shard searches its own people"),
    "accounts_searchedname": Owned("object_id", reason="as the terms"),
    "accounts_failures": Owned("key", reason="failed sign-ins; statements name the keys"),
    "accounts_keptname": Owned("digest", reason="has no other column that names somebody"),
    "accounts_invite": Whole(_SIGN_UP),
    "accounts_invitedperson": Whole(_SIGN_UP),
    "accounts_signuprequest": Whole(_SIGN_UP),
    "accounts_staffrole": Whole("A few rows; every process caches them."),
    "accounts_staffact": Whole(_STAFF),
    "accounts_appeal": Whole(_STAFF),
    "accounts_auditentry": Whole(_STAFF),
}
