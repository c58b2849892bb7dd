"""A visitor without a browser: pages over Streamlit's own connection, live views and files over HTTP.

Forty browsers would take the cores that the server needs; this speaks what a browser speaks for a hundredth of that.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

XSRF = "_streamlit_xsrf"
PATIENCE = 120.0
"""Seconds until a page that does not come is given up."""
LARGEST = 1 << 27


@asynccontextmanager
async def arrive(url: str) -> AsyncIterator[Visitor]:
    """Somebody who has never been here."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        for path in ("host-config", "health"):  # the one gives a visitor his cookie, the other one against forged requests
            await client.get(f"/_stcore/{path}")
        visitor = Visitor(client)
        try:
            yield visitor
        finally:
            await visitor.leave()


class Visitor:
    """One cookie, one open page at a time."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.http = client
        self.query = ""
        self._socket: ClientConnection | None = None
        self._elements: dict[tuple[int, ...], Element] = {}
        self._states: dict[str, WidgetState] = {}
        self._page = self._session = ""

    # -- pages -------------------------------------------------------------------------------

    async def open(self, page: str, query: str = "") -> None:
        """Go to a page, as a click on its link does."""
        if self._socket is None:
            address = str(self.http.base_url).replace("http", "ws", 1).rstrip("/") + "/_stcore/stream"
            told: Any = ["streamlit", self.http.cookies.get(XSRF, "")]
            self._socket = await connect(
                address, additional_headers={"Cookie": self.cookies}, subprotocols=told, max_size=LARGEST, open_timeout=PATIENCE
            )
        self._states, self._page, self.query = {}, "", query
        await self._rerun(name=page)

    async def leave(self) -> None:
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def _rerun(self, trigger: str = "", name: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.page_script_hash = self.query, name, self._page
        state.widget_states.widgets.extend(self._states.values())
        if trigger:
            state.widget_states.widgets.append(WidgetState(id=trigger, trigger_value=True))
        await self._send(message)
        await self._settle()

    async def _send(self, message: BackMsg) -> None:
        assert self._socket is not None, "no page is open"
        await self._socket.send(message.SerializeToString())

    async def _settle(self) -> None:
        """Until the script has come to its end, by way of other pages perhaps."""
        async for message in self._messages():
            kind = message.WhichOneof("type")
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return

    async def _messages(self) -> AsyncIterator[ForwardMsg]:
        assert self._socket is not None
        async with asyncio.timeout(PATIENCE):
            while True:
                message = ForwardMsg()
                message.ParseFromString(await self._socket.recv())
                self._take(message)
                yield message

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id
            self._elements.clear()
        elif kind == "navigation":
            self._page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._elements[tuple(message.metadata.delta_path)] = message.delta.new_element

    # -- what is on the page -----------------------------------------------------------------

    def _widgets(self, kind: str) -> Iterator[Any]:
        for element in list(self._elements.values()):
            if element.WhichOneof("type") == kind:
                yield getattr(element, kind)

    def complaints(self) -> list[str]:
        """Texts of the errors on the page."""
        rejected = [alert.body for alert in self._widgets("alert") if alert.format == Alert.ERROR]
        return rejected + [failure.message for failure in self._widgets("exception")]

    def warnings(self) -> list[str]:
        return [alert.body for alert in self._widgets("alert") if alert.format == Alert.WARNING]

    @property
    def run(self) -> str:
        """The run in the address."""
        found = re.search(r"run=([\w-]{22})", self.query)
        return found[1] if found else ""

    def has(self, kind: str, key: str) -> bool:
        """Whether there is such a widget."""
        return any(_named(one, key) for one in self._widgets(kind))

    def again(self) -> Visitor:
        """The same visitor with one more page."""
        return Visitor(self.http)

    @property
    def cookies(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())

    async def press(self, key: str) -> None:
        """Press a button, by its key or its label."""
        await self._rerun(self._one("button", key).id)

    def _one(self, kind: str, key: str) -> Any:
        found = next((one for one in self._widgets(kind) if _named(one, key)), None)
        if found is None:
            raise LookupError(f"there is no {kind} {key!r}; the page says {self.complaints() + self.warnings()}")
        return found

    async def write(self, kind: str, key: str, text: str) -> None:
        """Write into a field."""
        field = self._one(kind, key)
        self._states[field.id] = WidgetState(id=field.id, string_value=text)
        await self._rerun()

    async def choose(self, key: str, place: int) -> None:
        """Choose one of a row of options, by its place."""
        field = self._one("button_group", key)
        state = WidgetState(id=field.id)
        option = field.options[place]
        state.string_array_value.data.append(f"{option.content_icon} {option.content}".strip())
        self._states[field.id] = state
        await self._rerun()

    async def send_file(self, key: str, name: str, data: bytes) -> int:
        """Put a file into an uploader; the status of the answer."""
        field = self._one("file_uploader", key)
        message, ticket = BackMsg(), str(uuid.uuid4())
        message.file_urls_request.request_id, message.file_urls_request.session_id = ticket, self._session
        message.file_urls_request.file_names.append(name)
        await self._send(message)
        async for answer in self._messages():
            if answer.WhichOneof("type") == "file_urls_response" and answer.file_urls_response.response_id == ticket:
                break
        where = answer.file_urls_response.file_urls[0]
        headers = {"X-Xsrftoken": self.http.cookies.get(XSRF) or ""}
        put = await self.http.put(where.upload_url, files={"file": (name, data)}, headers=headers)
        if put.is_success:
            state = WidgetState(id=field.id)
            info = state.file_uploader_state_value.uploaded_file_info.add()
            info.file_id, info.name, info.size = where.file_id, name, len(data)
            info.file_urls.CopyFrom(where)
            self._states[field.id] = state
            await self._rerun()
        return put.status_code


def _named(widget: Any, key: str) -> bool:
    """A widget's id ends with the key that its page gives it."""
    return str(widget.id).endswith(f"-{key}") or widget.label == key


class LiveView:
    """What assets/live/view.js asks for, over one connection that stays open; and how long each answer took."""

    def __init__(self, url: str, run_id: str, cookies: str = "") -> None:
        host = httpx.URL(url)
        self._host, self._port, self._run = host.host, host.port or 80, run_id
        self._cookies = f"Cookie: {cookies}\r\n" if cookies else ""
        self._has = {"since": 0, "stride": 0, "tail": -1, "events": 0, "lower_bound": 0, "picture": ""}
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.seconds: list[float] = []

    async def ask(self) -> dict[str, Any]:
        """The next answer."""
        began = time.monotonic()
        status, reply = await asyncio.wait_for(self._get(), PATIENCE)
        self.seconds.append(time.monotonic() - began)
        if status != 200:
            raise RuntimeError(f"{status}: {reply.get('message', '')}")
        self._has |= {name: reply[name] for name in ("since", "stride", "tail")} | {"events": reply["event_count"]}
        self._has["lower_bound"] = int(bool(self._has["lower_bound"] or reply.get("lower_bound")))
        self._has["picture"] = (reply.get("picture") or {}).get("token", self._has["picture"])
        return reply

    async def _get(self) -> tuple[int, dict[str, Any]]:
        """One that the server has closed because nobody asked for a while is opened again, as browsers do."""
        kept = self._streams is not None
        try:
            return await self._answer()
        except (asyncio.IncompleteReadError, ConnectionError) as broken:
            if not kept or (isinstance(broken, asyncio.IncompleteReadError) and broken.partial):
                raise
        self.close()
        return await self._answer()

    async def _answer(self) -> tuple[int, dict[str, Any]]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 22)
        reader, writer = self._streams
        query = "&".join(f"{name}={value}" for name, value in self._has.items())
        writer.write(f"GET /studio/live/{self._run}?{query} HTTP/1.1\r\nHost: {self._host}\r\n{self._cookies}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
        return int(head.split(" ", 2)[1]), json.loads(await reader.readexactly(length))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
