// Chats in a real browser with the demo agent. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { chromium } from "playwright-core";

// The server allows the origin of the page, hence the fixed port.
const { GUILDHALL_TEST_URL: url, GUILDHALL_TEST_PASSWORD: password, GUILDHALL_TEST_PAGE_PORT: port } = process.env;
const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);

async function call(path, token, body) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

async function startBackend() {
  const { accessToken } = await call("auth/login", undefined, { name: "admin", password });
  const { secret } = await call("tenants/dev/keys", accessToken, { name: "chat-web", role: "developer" });
  const env = { ...process.env, GUILDHALL_URL: url, GUILDHALL_KEY: secret, PORT: port };
  const backend = spawn(process.execPath, ["server.mjs"], { cwd: new URL(".", import.meta.url), env, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await backend.stdout.take(1).toArray();
  return { backend, secret, address: String(line).trim() };
}

/** Sends a message, and waits for the answer. */
async function chat(page, text) {
  await page.fill("#text", text);
  await page.click("button");
  await page.waitForFunction((said) => document.body.innerText.includes(`You said: "${said}".`), text);
  await page.waitForSelector("button:enabled");
}

const kindsOf = (page) => page.$$eval("li", (items) => items.map((item) => item.className).filter((kind) => kind !== "tool"));

test("visitors chat in conversations of their own, and the key stays in the backend", async () => {
  const { backend, secret, address } = await startBackend();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const visitors = await Promise.all([browser.newContext(), browser.newContext()]);
    const [page, other] = await Promise.all(visitors.map((visitor) => visitor.newPage()));
    const answers = [];
    page.on("response", (response) => answers.push(response));
    await page.goto(address);
    await chat(page, "tidy my notes");
    await chat(page, "and the drawer");
    const kinds = await kindsOf(page);
    assert.deepEqual([...new Set(kinds)], ["user", "assistant"]);

    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("li").length === 4);
    assert.deepEqual(await kindsOf(page), ["user", "assistant", "user", "assistant"]);
    assert.deepEqual(await page.$$eval(".user", (items) => items.map((item) => item.textContent)), ["tidy my notes", "and the drawer"]);

    // The id of a conversation is no secret: it belongs to its visitor.
    const thread = await page.evaluate(() => localStorage.thread);
    await other.goto(address);
    await other.evaluate((id) => (localStorage.thread = id), thread);
    await other.reload();
    await chat(other, "whose notes?");
    assert.ok(!(await other.innerText("body")).includes("tidy my notes"));

    const bodies = await Promise.all(answers.map((answer) => answer.text().catch(() => "")));
    assert.ok(bodies.some((body) => body.includes("RUN_FINISHED")), "the page talks to Guildhall itself");
    assert.ok(!bodies.join().includes(secret));
    assert.equal((await fetch(`${address}/token`, { method: "POST" })).status, 404);
  } finally {
    await browser.close();
    backend.kill();
  }
});
