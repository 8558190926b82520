"""The site under attack: its processes, people who are signed in, requests and responses.

No module here chooses requests or judges responses.
"""
