"""The process: its embedded services, data folder, keys, logs and memory.

Nothing here knows about requests or people.
"""
