"""Management commands beside a running embedded site: they run inside its process.

The site's Redis exists only there, so a command in a process of its own would leave caches and
sign-ins out of date. `manage.py` sends the command to `DATA_DIR/control.sock` (`client`), the site
runs it in a thread (`server`), and its output and questions travel back (`caller`, `wire`).
`commands` decides which commands do so.
"""
