// Chats in a real browser with the demo agent. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { chromium } from "playwright-core";

const { GUILDHALL_TEST_URL: url, GUILDHALL_TEST_PASSWORD: password } = process.env;
const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);

async function call(path, token, body) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${url}/api/v1/${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

async function startBackend() {
  const { accessToken } = await call("auth/login", undefined, { name: "admin", password });
  const { secret } = await call("tenants/dev/keys", accessToken, { name: "chat-web", role: "developer" });
  const { agents } = await call("agents?tenantId=dev", accessToken);
  const env = { ...process.env, GUILDHALL_URL: url, GUILDHALL_KEY: secret, GUILDHALL_AGENT: agents[0].id, PORT: "0" };
  const backend = spawn(process.execPath, ["server.mjs"], { cwd: new URL(".", import.meta.url), env, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await backend.stdout.take(1).toArray();
  return { backend, secret, address: String(line).trim() };
}

test("a visitor chats with the agent in two turns, and the key stays in the backend", async () => {
  const { backend, secret, address } = await startBackend();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    const answers = [];
    page.on("response", (response) => answers.push(response));
    await page.goto(address);
    for (const text of ["tidy my notes", "and the drawer"]) {
      await page.fill("#text", text);
      await page.click("button");
      await page.waitForFunction((said) => document.body.innerText.includes(`You said: "${said}".`), text);
      await page.waitForSelector("button:enabled");
    }
    const kinds = await page.$$eval("li", (items) => items.map((item) => item.className));
    assert.deepEqual(kinds.filter((kind) => kind === "user" || kind === "error"), ["user", "user"]);
    assert.ok(kinds.includes("assistant") && kinds.includes("tool"), `${kinds}`);
    const bodies = await Promise.all(answers.map((answer) => answer.text().catch(() => "")));
    assert.ok(!bodies.join().includes(secret));
    const foreign = await fetch(`${address}/agui`, { method: "POST", body: "{}" });
    assert.equal(foreign.status, 404);
  } finally {
    await browser.close();
    backend.kill();
  }
});
