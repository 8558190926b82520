"""Tests of votes, their counts, and the end of polls."""
