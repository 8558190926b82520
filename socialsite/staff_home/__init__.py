"""The staff home: the first page of the admin, with the tiles and the numbers of every app.

A new tile or chart is a function in the module `staff_home` of its app; `contents` collects them.
"""
