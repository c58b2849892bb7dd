"""The visitor without a browser that the benchmarks send does what a browser does."""

import asyncio
import json

import pytest

from benchmarks.visiting import LiveView

REPLY = json.dumps({"since": 3, "stride": 1, "tail": 0.5, "event_count": 0}).encode()
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(REPLY), REPLY)


async def asked(times, answer):
    """So many questions to a server that closes each connection after one answer."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        view = LiveView(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "R" * 22)
        try:
            return [(await view.ask())["since"] for _ in range(times)]
        finally:
            view.close()


def test_a_connection_that_was_closed_between_two_questions_is_opened_again():
    assert asyncio.run(asked(3, WHOLE)) == [3, 3, 3]


def test_an_answer_that_breaks_off_is_an_error():
    with pytest.raises(asyncio.IncompleteReadError):
        asyncio.run(asked(1, WHOLE[:-4]))
