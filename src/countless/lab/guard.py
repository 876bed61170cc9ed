"""Who may talk to the lab: this machine's own browser, with the token, in small requests."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

MOST_BYTES = 16_384
HOSTS = ("127.0.0.1", "localhost")
# Nothing from elsewhere is loaded, and no other page may show this one in a frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",  # under this start's token nothing changes
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Refuses a foreign Host or Origin, a path without the token, and a body that is too large.

    The token is the first part of the path: whoever has the address has it, and no other page does. The
    Host is checked so that a name that is made to point here (DNS rebinding) leads nowhere.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{host}:{port}" for host in HOSTS}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        base = f"/{self.token}"
        # Routes are named without the token.
        inner = {**scope, "path": scope["path"][len(base) :], "raw_path": b""}
        await self.app(inner, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if scope["type"] != "http":
            return PlainTextResponse("Only HTTP is spoken here.", 403)
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts:
            return PlainTextResponse("The lab answers this machine only.", 403)
        if headers.get("origin", next(iter(self.origins))) not in self.origins:
            return PlainTextResponse("The lab answers its own page only.", 403)
        first, slash, _ = scope["path"].removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(first.encode(), self.token.encode()):
            return PlainTextResponse(
                "The address needs its token: open the one that `countless lab` prints.", 403
            )
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal():
            return PlainTextResponse("A request says how long it is.", 411)
        if int(length) > MOST_BYTES:
            return PlainTextResponse(f"A request has at most {MOST_BYTES:,} bytes.", 413)
        return None


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *extra]
        await send(message)

    return guarded
