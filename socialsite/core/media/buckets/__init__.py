"""Uploads in a bucket of an S3 server, for a site on several machines."""
