"""Full-text search: words of texts, and the index of the objects that have them.

Apps define the tables and decide which texts of an object are searched, and who may find it.
"""
