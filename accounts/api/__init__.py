"""API of accounts: sign-up, sign-in, sign-out, people."""
