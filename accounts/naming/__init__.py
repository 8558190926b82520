"""Usernames and nicknames: their rules, names that look alike, and the search for them."""
