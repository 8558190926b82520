"""The staff's view of people: masked addresses, descriptions of sign-ins and acts, admin site.

Acts of staff belong to `accounts.actions.moderation`.
"""
