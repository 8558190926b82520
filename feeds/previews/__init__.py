"""Previews of links: a card with title, text and picture of the first address in a post.

- `addresses` says which address of a post has a preview, `pages` reads what is behind it.
- `actions` does the work: a row of `WantedPreview`, written with the post, is claimed by a worker.
  It stores the result in `PostContent.link`, if the post still has that address.
- `runner` does that in a thread of its own: pages of others are slow, and nothing waits for them.
- The picture is a picture of the author's: who may see the post may see it, and it ends with it.
"""
