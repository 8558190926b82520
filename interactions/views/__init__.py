"""Pages of interactions.

Each form works without JavaScript (a redirect back); htmx gets the part that replaces itself.
"""
