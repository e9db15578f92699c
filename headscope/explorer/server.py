"""The explorer on a port: bind, say where, serve until Ctrl-C."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable

import uvicorn

from headscope.errors import UsageError
from headscope.explorer.app import Explorer
from headscope.explorer.connections import protocol_with
from headscope.explorer.gate import is_loopback


def new_token() -> str:
    """192 bits that nobody guesses."""
    return secrets.token_urlsafe(24)


def bound(host: str, port: int) -> socket.socket:
    """A listening socket, or a clear refusal; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host.strip("[]"), port))
        opened.listen(128)  # from now on whoever comes waits, and is not turned away
    except (OSError, OverflowError) as error:
        opened.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "the port is taken; choose another --port" if taken else str(error)
        raise UsageError(f"cannot listen on {host}:{port}: {why}") from None
    return opened


def server_for(explorer: Explorer, log_level: str = "warning") -> uvicorn.Server:
    """Uvicorn with our clocks, and with nothing that trusts a client's headers."""
    config = uvicorn.Config(
        explorer.app(),
        http=protocol_with(explorer.limits),
        ws="none",
        loop="asyncio",
        log_level=log_level,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=8,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32 * 1024,
        lifespan="on",
    )
    return uvicorn.Server(config)


def serve(
    make: Callable[[str, int, str | None], Explorer],
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    say: Callable[[str], None],
) -> None:
    """Listen, make the explorer for that address, say where it is, serve."""
    with bound(host, port) as listening:
        port = listening.getsockname()[1]
        token = None if is_loopback(host) else new_token()
        explorer = make(host, port, token)
        say(address(host, port, token))
        server_for(explorer).run(sockets=[listening])


def address(host: str, port: int, token: str | None) -> str:
    """What to open in a browser.

    >>> address("127.0.0.1", 8000, None)
    'http://127.0.0.1:8000/'
    """
    name = f"[{host.strip('[]')}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
