"""Shared by the measurements: sites, people and posts to measure with, and tables of results."""
