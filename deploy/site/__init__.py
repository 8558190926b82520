"""The site as it is installed on one Debian machine, and the command `site`.

Runs with Debian's own Python and its library alone, so it also works when the environment of the
site is broken. `deploy/install` calls it first.
"""
