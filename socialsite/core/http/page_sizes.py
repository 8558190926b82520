"""How many items a list has: on pages of the site, and in the API by default and at most."""

PAGE_SIZE = 20  # of every list on a page of the site
LIST_SIZE, LIST_MAX = 20, 100  # of lists in the API
FEED_SIZE, FEED_MAX = 10, 20  # of posts in the API
