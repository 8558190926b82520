"""The project: settings, URLs, and the modules that join the apps into one site.

Code that needs no app belongs to `socialsite.core`; code about one kind of object, to its app.
"""
