// The backend of the page. The key stays here: the browser never gets it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const { GUILDHALL_URL = "http://127.0.0.1:7117", GUILDHALL_KEY, GUILDHALL_AGENT, PORT = "8080" } = process.env;
if (!GUILDHALL_KEY || !GUILDHALL_AGENT) throw new Error("set GUILDHALL_KEY and GUILDHALL_AGENT: see README.md");
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const script = buildSync({ entryPoints: [file("chat.mjs")], bundle: true, format: "esm", write: false }).outputFiles[0].text;
const pages = { "/": ["text/html", readFileSync(file("index.html"))], "/chat.js": ["text/javascript", script] };

const server = createServer(async (request, response) => {
  const [type, body] = pages[request.url] ?? [];
  if (request.method === "GET" && type) return response.setHeader("content-type", type).end(body);
  // Another site must not use the agent through the browser of a visitor.
  const isOurs = request.headers["sec-fetch-site"] === "same-origin";
  if (request.method !== "POST" || request.url !== "/agui" || !isOurs) return response.writeHead(404).end();
  const headers = { authorization: `Bearer ${GUILDHALL_KEY}`, "content-type": "application/json", accept: "text/event-stream" };
  const init = { method: "POST", headers, body: request, duplex: "half" };
  try {
    const answer = await fetch(`${GUILDHALL_URL}/api/v1/agents/${GUILDHALL_AGENT}/agui`, init);
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
    Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
  } catch {
    response.writeHead(502).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
