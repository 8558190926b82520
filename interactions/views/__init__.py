"""Pages of interactions.

Each form works without JavaScript (with a redirect back); htmx gets the part that replaces itself.
"""
