"""Requests to an ASGI application without a server."""

from __future__ import annotations

import asyncio


def ask(app, path="/", headers=(), **more):
    """Status, headers (the last of each name) and body of the answer; of a WebSocket the messages that came back."""
    return asyncio.run(answer(app, path, headers, **more))


async def answer(app, path="/", headers=(), kind="http", method="GET", body="", client="192.0.2.7", scheme="http"):
    given = [(name.lower().encode(), value.encode()) for name, value in dict(headers).items()]
    path, _, query = path.partition("?")
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": given}
    scope |= {"client": (client, 5), "server": ("testserver", 80), "scheme": scheme, "root_path": "", "http_version": "1.1"}
    sent = []
    request = {"type": "http.request", "body": body.encode(), "more_body": False}
    arriving = [request if kind == "http" else {"type": "websocket.connect"}]

    async def receive():
        if arriving:
            return arriving.pop()
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    if kind != "http":
        return sent
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:])


def plain(status=200, headers=(), seen=None):
    """An application that answers "fine" and notes each scope it has seen."""

    async def app(scope, receive, send):
        if seen is not None:
            seen.append(scope)
        pairs = [(name.encode(), value.encode()) for name, value in dict(headers).items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": b"fine"})

    return app
