"""Back-ups of a site: the database and its log, uploads, and the keys, in a folder or in S3.

- A full back-up is a dump of one moment of the database and a list of the uploads. Log back-ups
  between two full ones keep every write since, so a site is restored to a second.
- Uploads never change once they are stored, so each is copied once.
- Everything is compressed, and encrypted if a key is given; the machine needs only the public half.
- Names are visible, contents are not: `full/…`, `log/…`, `media/…`.
"""
