"""Checks of a running site for its operator: `manage.py doctor`, and a page of the admin.

A check is a function in `checks` that yields findings; `contents` lists all of them in order. A
check reads and measures. It changes nothing except that it sends one message through the channel
layer, and writes one file into a bucket and removes it.
"""
