"""Videos that people upload: stored, checked, converted in a queue of their own, and shown.

- `uploads` stores a file and its rows. In the full stack the file is a source (`sources`), and the
  video is being processed. In the embedded mode it must be an MP4 that browsers play (`mp4`), and
  it is ready at once.
- `jobs` claims a video by a lease in the database, so the work of a killed worker is done again.
- `probing` and `converting` run ffprobe and ffmpeg in a `sandbox`: they parse what strangers made.
- `failures` names the reasons why a video failed; `shown` says what posts show of it.

`core.media.references` decides who may see a video, as for pictures.
"""
