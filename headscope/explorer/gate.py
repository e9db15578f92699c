"""Who may come in: the right Host, the right Origin, and a token where the address is open.

A page of another site can make a browser send requests here, and can point its own name at this
machine (DNS rebinding). So a request must name this server as its host, must not come from
another origin, and on any address but loopback must carry the token that was printed at start.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headscope.explorer.answers import answer
from headscope.explorer.limits import Bucket, Limits

COOKIE = "headscope"
#: Scripts, styles and data from here only; nothing inline, no eval, no frames around the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_check(listening: str, port: int) -> Callable[[str], bool]:
    """Which values of the Host header mean this server.

    On loopback the names of loopback only. On an open address also this machine's name and any
    plain address: a rebinding attack needs a name, and the token's cookie stays with its host.

    >>> good = host_check("127.0.0.1", 8000)
    >>> good("localhost:8000"), good("evil.example:8000"), good("127.0.0.1")
    (True, False, False)
    """
    names = {"localhost", "127.0.0.1", "[::1]"}
    if not is_loopback(listening):
        names |= {listening.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    allowed = {f"{name}:{port}" for name in names}
    if port == 80:
        allowed |= names

    def check(host: str) -> bool:
        host = host.lower()
        if host in allowed:
            return True
        return not is_loopback(listening) and _is_address(host, port)

    return check


def _is_address(host: str, port: int) -> bool:
    name, _, told = host.rpartition(":")
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return told == str(port)


class Gate:
    """The first thing a request meets; also puts the safety headers on every answer."""

    def __init__(
        self, app: ASGIApp, *, good_host: Callable[[str], bool], token: str | None, limits: Limits
    ) -> None:
        self._app, self._good_host, self._token = app, good_host, token
        self._requests = Bucket(limits.requests)
        self._wrong = Bucket(limits.wrong_tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets here
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._good_host(headers["host"]):
            return answer({"error": "this server does not go by that name"}, 421)
        origin = headers.get("origin")
        if origin is not None and not self._same_origin(origin, headers["host"]):
            return answer({"error": "requests from other sites are refused"}, 403)
        # browsers say where a request comes from also where they send no Origin
        site = headers.get("sec-fetch-site", "none")
        opens_page = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
        if site not in ("none", "same-origin") and not opens_page:
            return answer({"error": "requests from other sites are refused"}, 403)
        refusal = None if self._token is None else self._token_refusal(scope, headers)
        # counted last, so that nobody who is refused can use up what others may ask
        if refusal is None and not self._requests.take():
            return answer({"error": "too many requests; wait a moment"}, 429)
        return refusal

    def _same_origin(self, origin: str, host: str) -> bool:
        return origin.lower() == f"http://{host.lower()}"

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = [value for name, value in query if name == "token"]
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if self._right(bearer) or self._right(_cookie(headers)):
            return None
        if offered and scope["method"] == "GET" and self._right(offered[0]):
            # once in the cookie, the token leaves the address, and with it the history
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            target = "/" + scope["path"].lstrip("/\\") + (f"?{rest}" if rest else "")
            redirect = RedirectResponse(target, 303)
            redirect.set_cookie(COOKIE, offered[0], httponly=True, samesite="strict", path="/")
            return redirect
        if (offered or bearer) and not self._wrong.take():
            return answer({"error": "too many wrong tokens; wait a moment"}, 429)
        return answer({"error": "this address needs the token that was printed at start"}, 401)

    def _right(self, offered: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(offered.encode("utf-8", "replace"), self._token.encode())


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
