"""A receiver that verifies every request with the official library of Standard Webhooks for Python, as receiver.mjs does
with the one for JavaScript."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

received = []
secret = None


def verify(body, headers):
    try:
        return {"verified": True, "payload": Webhook(secret).verify(body, headers)}
    except WebhookVerificationError as error:
        return {"verified": False, "error": str(error)}


class Receiver(BaseHTTPRequestHandler):
    def body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0))).decode()

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        global secret
        secret = self.body()
        self.answer(204)

    def do_GET(self):
        self.answer(200, json.dumps(received).encode())

    def do_POST(self):
        body, headers = self.body(), dict(self.headers)
        outcome = verify(body, headers)
        signatures = len(self.headers["webhook-signature"].split(" "))
        received.append({"id": self.headers["webhook-id"], "signatures": signatures, **outcome})
        self.answer(204 if outcome["verified"] else 401)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
server.serve_forever()
