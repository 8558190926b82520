"""Uploads in a bucket, on a real S3 server."""
