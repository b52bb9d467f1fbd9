import { createClient, isEvent } from "@guildhall/client";

const client = createClient({ baseUrl: process.env.SERVER_URL ?? "http://127.0.0.1:7117", token: process.env.KEY ?? "" });

const { runId } = await client.post("/api/v1/runs", {
  body: {
    tenantId: "dev",
    projectId: "default",
    workspaceRef: { kind: "empty" },
    providerId: "local",
    backendProfile: "demo",
    traceSink: null,
  },
});
const run = { path: { run: runId } };
const { commandId } = await client.post("/api/v1/runs/{run}/commands", {
  params: run,
  body: { type: "turn", payload: { prompt: "tidy my notes" } },
});
for await (const { event } of client.followRun(runId)) {
  if (isEvent(event, "assistant_delta")) process.stdout.write(event.payload?.text ?? "");
  if (isEvent(event, "terminal_status") && event.commandId === commandId) break;
}
await client.post("/api/v1/runs/{run}/close", { params: run });
