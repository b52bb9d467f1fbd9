// Chats in a real browser with the demo agent. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { chromium } from "playwright-core";

const { GUILDHALL_TEST_URL: url, GUILDHALL_TEST_PASSWORD: password, GUILDHALL_TEST_PROGRAM: program } = process.env;
const ready = JSON.parse(process.env.GUILDHALL_TEST_READY);
const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
const WORDS = [...Array(40).keys()].map((word) => `tok${word}`);
let replica, backend, browser, address, secret;

async function call(path, token, body) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${url}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

/** A second server of the installation, which the page uses. The agents are those of the first one. */
class Replica {
  constructor(port) {
    const file = (name) => readFileSync(`${ready.state}/${name}`, "utf8").trim();
    this.url = `http://127.0.0.1:${port}`;
    this.env = {
      ...process.env,
      GUILDHALL_POSTGRES_URL: `postgres://guildhall:${file("postgres.password")}@127.0.0.1:${ready.postgres.port}/guildhall`,
      GUILDHALL_NATS_URL: `nats://guildhall:${file("nats.password")}@127.0.0.1:${ready.nats.port}`,
      GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY: file("identity.key"),
      GUILDHALL_TELEMETRY_LOG_FILTER: "off",
    };
    this.args = ["serve", "--listen", `127.0.0.1:${port}`];
  }

  async start() {
    this.process = spawn(program, this.args, { env: this.env, cwd: ready.state, stdio: ["ignore", "ignore", "inherit"] });
    const isReady = () => fetch(`${this.url}/health/readiness`).then(({ ok }) => ok, () => false);
    while (!(await isReady())) await delay(50);
  }

  kill() {
    return new Promise((resolve) => this.process.once("exit", resolve) && this.process.kill("SIGKILL"));
  }
}

before(async () => {
  const { accessToken } = await call("auth/login", undefined, { name: "admin", password });
  ({ secret } = await call("tenants/dev/keys", accessToken, { name: "copilotkit", role: "operator" }));
  replica = new Replica(await freePort());
  const env = { ...process.env, GUILDHALL_URL: replica.url, GUILDHALL_KEY: secret, PORT: "0" };
  backend = spawn(process.execPath, ["server.mjs"], { cwd: new URL(".", import.meta.url), env, stdio: ["ignore", "pipe", "inherit"] });
  const [[line]] = await Promise.all([backend.stdout.take(1).toArray(), replica.start()]);
  address = String(line).trim();
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
});

after(async () => {
  await browser?.close();
  backend?.kill();
  replica?.process.kill("SIGKILL");
});

/** Opens the page in a browser profile of its own. */
async function openPage() {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  // CopilotKit drops what is sent before it has connected.
  const connected = page.waitForResponse((response) => response.url().endsWith("/connect"));
  await page.goto(address);
  await (await connected).finished();
  return page;
}

async function send(page, text) {
  await page.fill("textarea", text);
  await page.keyboard.press("Enter");
}

const see = (page, text) => page.waitForFunction((words) => document.body.innerText.includes(words), text);
const count = async (page, text) => (await page.innerText("body")).split(text).length - 1;

/** Checks that each word of the slow answer is there once. */
async function assertWholeAnswer(page) {
  await see(page, WORDS.at(-1));
  const shown = (await page.innerText("body")).match(/tok\d+/g);
  assert.deepEqual(shown, WORDS);
}

describe("a page", { concurrency: 3 }, () => {
  test("a visitor sees a tool call, and allows another one", async () => {
    const page = await openPage();
    await send(page, "run:echo first result");
    await see(page, "It ended with 0.");
    const tool = page.locator("[data-testid=copilot-tool-render]");
    assert.match(await tool.getAttribute("data-args"), /echo first result/);
    assert.match(await tool.getAttribute("data-result"), /first result/);
    await send(page, "ask:echo second result");
    await see(page, "Allow this command?");
    await page.click(`button:text-is("Allow")`);
    await see(page, "I asked, and did it.");
    assert.equal(await tool.count(), 2);
    // The page shows the same after it is loaded again.
    for (const isReloaded of [false, true]) {
      if (isReloaded) await page.reload();
      await see(page, "I asked, and did it.");
      for (const text of ["It ended with 0.", "I asked, and did it.", "run:echo first result", "ask:echo second result"]) {
        assert.equal(await count(page, text), 1, `${text} (reloaded: ${isReloaded})`);
      }
      assert.equal(await count(page, "Allow this command?"), 0);
    }
    assert.match(await tool.last().getAttribute("data-result"), /second result/);
    assert.deepEqual(page.problems, []);
  });

  test("a question survives a reload, and is denied", async () => {
    const page = await openPage();
    await send(page, "ask:echo never");
    await see(page, "Allow this command?");
    await page.reload();
    await see(page, "Allow this command?");
    await page.click(`button:text-is("Deny")`);
    await see(page, "I asked, and was not allowed to.");
    assert.equal(await count(page, "ask:echo never"), 1);
  });

  test("an answer survives a reload in the middle", async () => {
    const page = await openPage();
    await send(page, "slow");
    await see(page, "tok3");
    await page.reload();
    await assertWholeAnswer(page);
  });
});

test("an answer survives a killed server in the middle", async () => {
  const page = await openPage();
  await send(page, "slow");
  await see(page, "tok3");
  await replica.kill();
  assert.equal(await count(page, WORDS.at(-1)), 0, "in the middle");
  await replica.start();
  await assertWholeAnswer(page);
  await send(page, "echo:after the restart");
  await see(page, "Echo: after the restart");
});

test("the key stays in the backend, which serves no other site", async () => {
  for (const path of ["/", "/app.js", "/app.css"]) {
    const response = await fetch(`${address}${path}`);
    assert.ok(response.ok && !(await response.text()).includes(secret), path);
  }
  const foreign = await fetch(`${address}/copilotkit/info`);
  assert.equal(foreign.status, 404);
});
