"""API of accounts: signing in and out, people."""
