"""Receives the webhooks of the agent: new messages, answers to its calls, and manifests that its users are asked about.

    guildhall webhooks add http://127.0.0.1:8087/ --agent helper --json > webhook.json
    python receiver.py webhook.json --port 8087
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

# Envelopes are sent up to 64 KiB.
MAX_BODY_BYTES = 256 * 1024


def describe(event: dict[str, Any]) -> str:
    data = event["data"]
    if event["type"] == "h2a.reauth_required":
        return f"version {data['new_manifest_version']} asks users again: {', '.join(data['scopes_requiring_reauth'])}"
    # Sealed content can only be read by the devices of the agent.
    content = "sealed" if data["sealed"] else json.dumps(data["envelope"], ensure_ascii=False)
    return f"from {data['from']}: {content}"


class Receiver(BaseHTTPRequestHandler):
    webhook: Webhook
    seen: set[str] = set()

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        if length > MAX_BODY_BYTES:
            return self.answer(413)
        try:
            event = self.webhook.verify(self.rfile.read(length), dict(self.headers))
        except WebhookVerificationError as error:
            print(f"refused: {error}", flush=True)
            return self.answer(401)
        # An event can come twice, under the same id. A real receiver keeps the ids longer than this process.
        if self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            print(f"{event['type']} {describe(event)}", flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("webhook", type=Path, help="what `guildhall webhooks add --json` has printed")
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    Receiver.webhook = Webhook(json.loads(arguments.webhook.read_text())["secret"])
    server = HTTPServer(("127.0.0.1", arguments.port), Receiver)
    print(f"waiting for events at http://127.0.0.1:{arguments.port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
