"""Texts that are too long for a line of a template, where `makemessages` cannot join two lines."""

from django.utils.translation import gettext_noop

MEMBERS = gettext_noop(
    "On %(site)s people share texts, pictures, articles and links to videos. Your home page"
    " shows everything that the people you follow share with you, newest first."
)
GUESTS = gettext_noop(
    "Without an account you can read public posts and their comments, look at profiles and search"
    " for people. With an account you can also post, comment, like and follow."
)
RECOVERY_CODES = gettext_noop(
    "Store them where you can find them without your phone: print them, or save them in your"
    " password manager. Each code works once. They are shown only now."
)
PUSHES = gettext_noop(
    "New notifications appear on this device, also while the site is closed. That ends when you log"
    " out here, or sign this device out elsewhere."
)
REPORTED = gettext_noop(
    "Our staff will review it. Do you want to see nothing more of @%(name)s? Then block this"
    " person: you will no longer see each other's posts and comments."
)
