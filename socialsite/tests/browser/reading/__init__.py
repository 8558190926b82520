"""Lists, cards, comments and notifications in a real browser."""
