"""An agent that calls tools on the device of a user, with the official client of AUN, unmodified.

    python agent.py register
    python agent.py call --to developer.guildhall.test notify '{"text": "The report is ready."}'
"""

import argparse
import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any

import local_names
from aun_core import AIDStore, AUNClient, AUNError

MANIFEST = json.loads(Path(__file__).with_name("manifest.json").read_text())

# What a user has time to answer, and the longest tool of the manifest.
WAIT_SECONDS = 60


def tool_call(tool: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the payload of a call. It is sealed: the server cannot read it."""
    return {
        "type": "artifact",
        "artifact": {
            "subtype": "tool_call",
            "call_id": f"call_{uuid.uuid4().hex}",
            "tool_name": tool["name"],
            "arguments": arguments,
            "permission_scope": tool["permission_scope"],
            "timeout_ms": tool["timeout_ms"],
        },
    }


# What stands beside a sealed call in clear. The server counts calls by it, and devices compare it with what is inside.
HEADERS = {"msg_subtype": "artifact_tool_call", "content_type": "artifact"}


class Agent:
    def __init__(self, client: AUNClient) -> None:
        self.client = client
        self.answers: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = {}
        client.on("message.received", self.receive)

    def receive(self, message: dict[str, Any]) -> None:
        payload = message.get("payload")
        artifact = payload.get("artifact") if isinstance(payload, dict) else None
        if not isinstance(artifact, dict) or artifact.get("subtype") != "tool_response":
            return
        # Only the user who was called can answer.
        answer = self.answers.get((message.get("from", ""), artifact.get("call_id", "")))
        if answer is not None:
            answer.get_loop().call_soon_threadsafe(set_once, answer, artifact)

    async def call(self, user: str, tool: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls a tool, and waits for the answer."""
        payload = tool_call(tool, arguments)
        key = (user, payload["artifact"]["call_id"])
        self.answers[key] = asyncio.get_running_loop().create_future()
        try:
            params = {"to": user, "payload": payload, "protected_headers": HEADERS}
            await self.client.call("message.send", params)
            return await asyncio.wait_for(self.answers[key], WAIT_SECONDS)
        finally:
            del self.answers[key]


def set_once(future: asyncio.Future[dict[str, Any]], value: dict[str, Any]) -> None:
    if not future.done():
        future.set_result(value)


def value_of(result: Any) -> Any:
    if result.ok:
        return result.data
    raise SystemExit(f"{result.error.code}: {result.error.message}")


async def run(arguments: argparse.Namespace) -> None:
    store = AIDStore(
        arguments.keys,
        # Encrypts the private key in the folder.
        os.environ.get("AGENT_PASSPHRASE", "a long passphrase"),
        root_ca_path=arguments.root,
        discovery_port=arguments.port,
    )
    if arguments.command == "register":
        value_of(await store.register(arguments.aid, type="agent"))
        print(f"registered {arguments.aid}")
        return
    tools = {tool["name"]: tool for tool in MANIFEST["tools"]}
    client = AUNClient(value_of(store.load(arguments.aid))["aid"])
    agent = Agent(client)
    await client.connect()
    try:
        answer = await agent.call(arguments.to, tools[arguments.tool], json.loads(arguments.arguments))
        print(json.dumps(answer, ensure_ascii=False))
    except AUNError as error:
        # For example after the user has taken the consent back.
        raise SystemExit(f"refused: {error}") from None
    except TimeoutError:
        raise SystemExit("no answer: is the guard of the user running?") from None
    finally:
        await client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aid", default="helper.guildhall.test", help="AID of the agent")
    parser.add_argument("--keys", default="agent-keys", help="folder with the key of the AID")
    parser.add_argument("--root", default="root.pem", help="root certificate of the issuer")
    parser.add_argument("--port", type=int, help="port of the TLS gateway, if it is not 443")
    parser.add_argument("--local", action="store_true", help="the names of the issuer lead to this machine")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("register", help="make a key, and register the AID")
    call = commands.add_parser("call", help="call a tool of a user, and print the answer")
    call.add_argument("--to", required=True, help="AID of the user")
    call.add_argument("tool", choices=[tool["name"] for tool in MANIFEST["tools"]])
    call.add_argument("arguments", help="JSON object")
    arguments = parser.parse_args()
    if arguments.local:
        local_names.resolve_locally(arguments.aid.split(".", 1)[1])
    asyncio.run(run(arguments))


if __name__ == "__main__":
    main()
