"""Reads that replicas of the database answer."""
