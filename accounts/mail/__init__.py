"""Mails to people: their texts and the signed links in them.

The budgets decide who may cause a mail.
"""
