"""Composing, drafts and pictures in a real browser: nothing that is typed gets lost."""
