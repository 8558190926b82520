"""ASGI entry: `/ws/` in the full stack, HTTP and `/ws/` in the embedded mode."""

import os
import warnings
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

from socialsite.core.runtime import data_dir

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
os.umask(data_dir.UMASK)

# The embedded mode serves files itself; they are small and read whole.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

django_application = get_asgi_application()

from accounts.live.urls import urlpatterns as sockets  # noqa: E402  (needs the loaded apps)
from socialsite.core.http.server.body_limits import Gate  # noqa: E402
from socialsite.core.http.server.header_limits import Bounded  # noqa: E402
from socialsite.core.runtime import concurrency, memory  # noqa: E402
from socialsite.core.runtime.request_ids import Named  # noqa: E402

memory.tune()


async def nothing_here(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a WebSocket at an unknown address: closing before accepting answers 403."""
    await receive()
    await send({"type": "websocket.close"})


routes = [*sockets, re_path("", nothing_here)]  # type: ignore[arg-type]
# `accounts.live.handshake` decides which pages may open a socket, by the credential.
places = concurrency.Places(concurrency.SLOW_ASGI, concurrency.LINE_ASGI)
application = Bounded(
    Named(
        ProtocolTypeRouter(
            {
                "http": Gate(
                    concurrency.Turns(django_application, concurrency.REQUESTS_AT_ONCE, places)
                ),
                "websocket": URLRouter(routes),
            }
        )
    )
)
memory.settle()
