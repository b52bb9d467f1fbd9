import { HttpAgent } from "@ag-ui/client";

// A page that is loaded again continues its conversation.
const threadId = (sessionStorage.thread ??= crypto.randomUUID());
const agent = new HttpAgent({ url: "/agui", threadId });
const [messages, form, text] = ["messages", "form", "text"].map((id) => document.getElementById(id));

function add(kind, content) {
  const item = document.createElement("li");
  item.className = kind;
  item.textContent = content;
  messages.append(item);
  return item;
}

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const content = text.value.trim();
  if (!content) return;
  form.reset();
  form.querySelector("button").disabled = true;
  add("user", content);
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  const items = new Map();
  try {
    await agent.runAgent({}, {
      onTextMessageStartEvent: ({ event }) => void items.set(event.messageId, add("assistant", "")),
      onTextMessageContentEvent: ({ event }) => void (items.get(event.messageId).textContent += event.delta),
      onToolCallStartEvent: ({ event }) => void add("tool", `uses ${event.toolCallName}`),
      onRunErrorEvent: ({ event }) => void add("error", event.message),
    });
  } catch (error) {
    add("error", error.message);
  } finally {
    form.querySelector("button").disabled = false;
  }
});
