"""Whom to follow: candidates from the follows of the people one follows, and their reasons.

`candidates` computes lists that may be a day old; `queries` shows of them only what is true now.
"""
