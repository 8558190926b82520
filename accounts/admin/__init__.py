"""Admin of accounts, a module for each subject; every change goes through an action.

The site of the admin, which decides who enters, is `accounts.sign_in.admin_site`.
"""

import importlib

from django.contrib import admin
from django.contrib.auth.models import Group
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.admin import (  # noqa: F401  (register their pages)
    announcements,
    audit,
    closings,
    documents,
    people,
    pushes,
    roles,
    sign_ins,
    sign_ups,
    site,
    staff_acts,
)

importlib.import_module("django.contrib.auth.admin")  # registers the page of groups
admin.site.unregister(Group)  # rights follow from the role, not from groups
# django-otp registers its own pages on import; they show secrets and edit devices by hand.
for module in ("otp_totp", "otp_static"):
    importlib.import_module(f"django_otp.plugins.{module}.admin")
admin.site.unregister((TOTPDevice, StaticDevice))
