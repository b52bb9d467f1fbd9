import { HttpAgent } from "@ag-ui/client";

// A page that is loaded again continues its conversation.
const threadId = (localStorage.thread ??= crypto.randomUUID());
const [messages, form, text] = ["messages", "form", "text"].map((id) => document.getElementById(id));

/** Returns the address of Guildhall and the token of this visitor, which the backend of the page has. */
async function signIn() {
  const response = await fetch("/token", { method: "POST" });
  if (!response.ok) throw new Error("cannot sign in");
  const { url, token } = await response.json();
  return { runs: `${url}/api/v1/agent/runs`, history: `${url}/api/v1/agent/history`, headers: { authorization: `Bearer ${token}` } };
}

function add(kind, content) {
  const item = document.createElement("li");
  item.className = kind;
  item.textContent = content;
  messages.append(item);
  return item;
}

async function showHistory() {
  const { history, headers } = await signIn();
  const response = await fetch(`${history}?threadId=${threadId}`, { headers });
  // A new conversation is not known yet.
  if (response.ok) for (const { role, content } of (await response.json()).messages) add(role, content);
}

async function send(content) {
  const { runs, headers } = await signIn();
  const agent = new HttpAgent({ url: runs, headers, threadId });
  const items = new Map();
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  await agent.runAgent({}, {
    onTextMessageStartEvent: ({ event }) => void items.set(event.messageId, add("assistant", "")),
    onTextMessageContentEvent: ({ event }) => void (items.get(event.messageId).textContent += event.delta),
    onToolCallStartEvent: ({ event }) => void add("tool", `uses ${event.toolCallName}`),
    onRunErrorEvent: ({ event }) => void add("error", event.message),
  });
}

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const content = text.value.trim();
  if (!content) return;
  form.reset();
  form.querySelector("button").disabled = true;
  add("user", content);
  await send(content).catch((error) => add("error", error.message));
  form.querySelector("button").disabled = false;
});

showHistory().catch((error) => add("error", error.message));
