"""Tests of drafts."""
