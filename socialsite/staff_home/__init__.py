"""The staff home: the first page of the admin, with the tiles of every app.

A new tile is a function in the module `staff_home` of its app; `contents` collects them.
"""
