"""What staff see of people: masked addresses, descriptions of sign-ins and acts, the admin site.

What staff do to people belongs to `accounts.actions.moderation`.
"""
