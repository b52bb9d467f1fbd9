import asyncio
import os
from contextlib import aclosing

from guildhall_client import Client, known_event


async def main() -> None:
    url, key = os.environ.get("SERVER_URL", "http://127.0.0.1:7117"), os.environ.get("KEY", "")
    async with Client(url, key) as client:
        run = await client.create_run(
            {
                "tenantId": "dev",
                "projectId": "default",
                "workspaceRef": {"kind": "empty"},
                "providerId": "local",
                "backendProfile": "demo",
                "traceSink": None,
            }
        )
        turn = await client.create_command(run["runId"], {"type": "turn", "payload": {"prompt": "tidy my notes"}})
        async with aclosing(client.follow_run(run["runId"])) as items:
            async for item in items:
                event = known_event(item.event)
                if event and event["type"] == "assistant_delta":
                    print((event.get("payload") or {}).get("text", ""), end="", flush=True)
                if event and event["type"] == "terminal_status" and event.get("commandId") == turn["commandId"]:
                    break
        await client.close_run(run["runId"])


asyncio.run(main())
