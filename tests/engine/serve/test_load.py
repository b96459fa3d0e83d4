"""Many requests at once."""

from __future__ import annotations

import asyncio
import json

from .face import Face

REQUESTS = 1000
TOKENS = 4


async def _one(port: int, number: int) -> tuple[int, int, int]:
    """Ask on a connection of its own; returns status, number of tokens, slot."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"prompt": f"request {number}", "n_predict": TOKENS, "ignore_eos": True}).encode()
    head = f"POST /completion HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    text = await reader.read()
    writer.close()
    await writer.wait_closed()
    answer = json.loads(text.partition(b"\r\n\r\n")[2])
    return int(text.split(b" ", 2)[1]), answer["tokens_predicted"], answer["id_slot"]


async def test_a_thousand_requests_on_four_slots_are_all_answered() -> None:
    with Face("-c 1024 -np 4 --metrics -cram 0") as face:
        answers = await asyncio.gather(*(_one(face.port, number) for number in range(REQUESTS)))
        assert {(status, count) for status, count, _ in answers} == {(200, TOKENS)}
        assert {slot for _, _, slot in answers} == {0, 1, 2, 3}
        text = await asyncio.to_thread(lambda: face.ask("/metrics").text)
        assert f"tokens_predicted_total {REQUESTS * TOKENS}\n" in text
        assert "requests_processing 0\n" in text
        assert "requests_deferred 0\n" in text
        assert face.is_quiet
        assert face.host
        face.host.core.check_integrity()
