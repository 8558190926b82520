"""Pictures that people upload, the files, quota and use of them, and the links of videos.

The apps that refer to a picture decide who may see it.
"""
