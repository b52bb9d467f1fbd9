// The backend of the page. The key stays here: the browser never gets it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const { GUILDHALL_URL = "http://127.0.0.1:7117", GUILDHALL_KEY, PORT = "8080" } = process.env;
if (!GUILDHALL_KEY) throw new Error("set GUILDHALL_KEY: see README.md");
const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const options = { bundle: true, format: "esm", jsx: "automatic", minify: true, write: false, outdir: "/", logLevel: "error" };
const built = buildSync({ ...options, entryPoints: [file("app.jsx")], loader: { ".woff2": "dataurl", ".woff": "empty", ".ttf": "empty" }, define: { "process.env.NODE_ENV": '"production"' } });
const types = { js: "text/javascript", css: "text/css" };
const pages = { "/": ["text/html", readFileSync(file("index.html"))] };
for (const { path, text } of built.outputFiles) pages[path] = [types[path.split(".").at(-1)], text];
const ROUTES = /^\/copilotkit\/(info|agent\/[\w-]+\/(run|connect|stop\/[\w-]+))$/;

const server = createServer(async (request, response) => {
  const [type, body] = pages[request.url] ?? [];
  if (request.method === "GET" && type) return response.setHeader("content-type", type).end(body);
  // Another site must not use the agent through the browser of a visitor.
  const isOurs = request.headers["sec-fetch-site"] === "same-origin";
  if (!ROUTES.test(request.url) || !isOurs) return response.writeHead(404).end();
  const headers = { authorization: `Bearer ${GUILDHALL_KEY}`, "content-type": "application/json", accept: "text/event-stream" };
  const init = request.method === "POST" ? { method: "POST", headers, body: request, duplex: "half" } : { headers };
  try {
    const answer = await fetch(`${GUILDHALL_URL}/api/v1${request.url}`, init);
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
    Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
  } catch {
    response.writeHead(502).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
