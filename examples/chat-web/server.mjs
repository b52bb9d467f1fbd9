// The backend of the page. The key stays here: the browser gets a token for its visitor only.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const { GUILDHALL_URL = "http://127.0.0.1:7117", GUILDHALL_KEY, GUILDHALL_TENANT = "dev", GUILDHALL_AGENT = "demo", PORT = "8080" } = process.env;
if (!GUILDHALL_KEY) throw new Error("set GUILDHALL_KEY: see README.md");
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const script = buildSync({ entryPoints: [file("chat.mjs")], bundle: true, format: "esm", write: false }).outputFiles[0].text;
const pages = { "/": ["text/html", readFileSync(file("index.html"))], "/chat.js": ["text/javascript", script] };

/** Returns the visitor of a request. A real backend takes the user of its own session. */
const visitorOf = (request) => /(?:^|; )visitor=([0-9a-f-]{36})(?:;|$)/.exec(request.headers.cookie ?? "")?.[1];

async function createToken(visitor) {
  const headers = { authorization: `Bearer ${GUILDHALL_KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({ subject: visitor, agentId: GUILDHALL_AGENT });
  const path = `/api/v1/tenants/${GUILDHALL_TENANT}/subject-tokens`;
  const answer = await fetch(GUILDHALL_URL + path, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()).accessToken;
}

const server = createServer(async (request, response) => {
  const [type, body] = pages[request.url] ?? [];
  const visitor = visitorOf(request);
  if (request.method === "GET" && type) {
    if (!visitor) response.setHeader("set-cookie", `visitor=${randomUUID()}; HttpOnly; SameSite=Strict; Path=/`);
    return response.setHeader("content-type", type).end(body);
  }
  // Another site must not get the token of a visitor.
  const isOurs = request.headers["sec-fetch-site"] === "same-origin";
  if (request.method !== "POST" || request.url !== "/token" || !isOurs || !visitor) return response.writeHead(404).end();
  try {
    const token = await createToken(visitor);
    response.setHeader("content-type", "application/json").setHeader("cache-control", "no-store");
    response.end(JSON.stringify({ url: GUILDHALL_URL, token }));
  } catch (error) {
    console.error(error.message);
    response.writeHead(502).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
