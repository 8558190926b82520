"""Previews of links: a card with title, text and picture of the first address in a post.

- `addresses` chooses the address of a post that has a preview, `pages` reads its page.
- `actions` does the work: a row of `WantedPreview`, written with the post, is claimed by a worker.
  It stores the result in `PostContent.link`, if the post still has that address.
- `runner` does that in a separate thread, since other sites may be slow.
- The picture belongs to the author. Readers of the post may see it; it is deleted with the post.
"""
