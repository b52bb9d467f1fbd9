from __future__ import annotations

import httpx
import pytest
from conftest import Server
from guildhall_client import ApiError, Client

pytestmark = pytest.mark.anyio

UNKNOWN_RUN = "run_01920000000070008000000000000000"


async def test_call_returns_the_body_of_the_response(server: Server) -> None:
    created = await server.create_run()
    read = await server.client.get_run(created["runId"])
    assert (read["runId"], read["backendProfile"]) == (created["runId"], "demo")


async def test_upload_sends_the_bytes_of_an_image(server: Server) -> None:
    image = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    uploaded = await server.client.create_attachment(image, "image/png", tenant_id="dev")
    async with httpx.AsyncClient() as http:
        read = await http.get(uploaded["url"])
    assert (uploaded["mimeType"], read.status_code, read.content) == ("image/png", 200, image)


async def test_invalid_token_is_a_401_error(server: Server) -> None:
    async with Client(server.url, "not-a-token") as client:
        with pytest.raises(ApiError) as raised:
            await client.get_current_principal()
    error = raised.value
    assert (error.status, error.failure_kind, error.retry) == (401, "unauthenticated", "after-change")
    assert len(error.trace_id or "") == 32


async def test_unknown_run_is_a_404_error_of_a_call_and_of_a_stream(server: Server) -> None:
    for request in (server.client.get_run(UNKNOWN_RUN), anext(server.client.follow_run(UNKNOWN_RUN))):
        with pytest.raises(ApiError) as raised:
            await request
        error = raised.value
        assert error.problem
        assert (error.status, error.failure_kind, error.problem["type"]) == (
            404,
            "not-found",
            "urn:guildhall:error:not-found",
        )


async def test_input_that_breaks_a_rule_is_a_422_error(server: Server) -> None:
    with pytest.raises(ApiError) as raised:
        await server.start_agent_run("no uuid", "run-1")
    error = raised.value
    assert (error.status, error.failure_kind, str(error)) == (422, "invalid-input", "threadId must be a valid UUID")


async def test_failure_that_is_not_from_guildhall_has_the_kind_unknown() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(502, text="<h1>Bad gateway</h1>", headers={"retry-after": "7"}))
    async with Client("http://guildhall", "any", transport=transport) as client:
        with pytest.raises(ApiError) as raised:
            await client.get_current_principal()
    error = raised.value
    assert (error.status, error.failure_kind, error.retry, error.retry_after) == (502, "unknown", "later", 7.0)
