"""Mails to people: their texts and the signed links in them.

Who may cause a mail is decided by the budgets.
"""
