"""The environment variables of uploads, a part of `socialsite.env`."""

import importlib.util
from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from socialsite.core.media.buckets import address

PACKAGES = ("storages", "boto3")


class MediaSettings(BaseSettings):
    """Where uploads are, and how large they may be."""

    MEDIA_URL: str = Field(
        "",
        description="where uploads are: a folder, or s3://key:secret@host:port/bucket/prefix"
        " (options region, style, tls); empty: DATA_DIR/media",
    )
    MEDIA_MIN_FREE_PERCENT: float = Field(
        5, ge=0, le=90, description="uploads are refused while the disk has less free; 0: never"
    )
    VIDEO_UPLOADS: bool = Field(True, description="people may upload videos")
    VIDEO_MB: int = Field(100, ge=1, le=100, description="maximum size of an uploaded video, in MB")
    VIDEO_SECONDS: int = Field(600, ge=1, le=3600, description="maximum seconds of a video")
    IMPORT_MB: int = Field(500, ge=5, le=500, description="maximum MB of an archive to import")

    @field_validator("MEDIA_URL")
    @classmethod
    def _media(cls, value: str) -> str:
        if value.startswith(address.SCHEME):
            address.read(value)
            if None in map(importlib.util.find_spec, PACKAGES):
                raise ValueError("needs the packages of requirements/s3.txt for a bucket")
        elif value and not value.startswith("/"):
            raise ValueError("must be the whole path of a folder, or start with s3://")
        return value

    @property
    def media_folder(self) -> Path | None:
        """The folder that is set for uploads."""
        return Path(self.MEDIA_URL) if self.MEDIA_URL.startswith("/") else None

    @property
    def media_bucket(self) -> address.Address | None:
        """The bucket that is set for uploads."""
        is_bucket = self.MEDIA_URL.startswith(address.SCHEME)
        return address.read(self.MEDIA_URL) if is_bucket else None
