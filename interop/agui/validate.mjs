// ag-ui-validate against a real server. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { before, test } from "node:test";
import { RUNS, signIn } from "./server.mjs";

const MAIN = "import sys; from ag_ui_validate.cli import main; sys.exit(main())";
let headers;

/** Returns what ag-ui-validate says about a recorded stream, or about a live server if there is none. */
function validate(args, stream = "") {
  return new Promise((resolve, reject) => {
    const options = ["-c", MAIN, "--json", "--timeout", "30", ...args];
    const child = execFile(process.env.GUILDHALL_TEST_PYTHON, options, (error, stdout, stderr) => {
      // It fails if it finds something, and prints nothing if it cannot work.
      if (stdout) resolve(JSON.parse(stdout));
      else reject(new Error(stderr, { cause: error }));
    });
    child.stdin.end(stream);
  });
}

async function record(threadId, content, resume = []) {
  const input = { threadId, runId: randomUUID(), messages: [{ id: randomUUID(), role: "user", content }], resume };
  const init = { method: "POST", headers: { ...headers, accept: "text/event-stream" }, body: JSON.stringify(input) };
  return (await fetch(RUNS, init)).text();
}

before(async () => {
  headers = await signIn();
});

test("an illegal stream is found", async () => {
  const stream = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\ndata: {"type":"TEXT_MESSAGE_END","messageId":"m"}\n\n`;
  assert.notDeepEqual((await validate(["-"], stream)).diagnostics, []);
});

test("a live run has no findings", { timeout: 60_000 }, async () => {
  const { diagnostics } = await validate([RUNS, "--header", `authorization: ${headers.authorization}`]);
  assert.deepEqual(diagnostics, []);
});

test("runs with tools, failures and questions have no findings", { timeout: 60_000 }, async () => {
  const thread = randomUUID();
  const asked = await record(thread, "ask:echo done");
  const interruptId = asked.match(/apr_\w+/)[0];
  const streams = [
    asked,
    await record(thread, "", [{ interruptId, status: "resolved", payload: { approved: true } }]),
    ...(await Promise.all(["run:echo one", "boom", "echo:two"].map((content) => record(randomUUID(), content)))),
    await (await fetch(`${RUNS}/${thread}/events`, { headers })).text(),
  ];
  const reports = await Promise.all(streams.map((stream) => validate(["-"], stream)));
  for (const [index, { diagnostics }] of reports.entries()) assert.deepEqual(diagnostics, [], streams[index]);
  const exercised = (name) => reports.some(({ features }) => features[name] === "exercised");
  for (const name of ["agentic-chat", "backend-tool-rendering", "human-in-the-loop"]) assert.ok(exercised(name), name);
});
