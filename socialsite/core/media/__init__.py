"""Pictures that people upload, the files, quota and use of them, and the links of videos.

Who may see a picture is decided by the apps that refer to it.
"""
