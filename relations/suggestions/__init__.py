"""Suggestions of people to follow: candidates from the follows of followed people, with reasons.

`candidates` computes lists that may be a day old; `queries` shows of them only what is true now.
"""
