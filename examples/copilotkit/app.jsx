import { createRoot } from "react-dom/client";
import { CopilotChat, CopilotKitProvider, useAgent, useCopilotKit, useDefaultRenderTool, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useReconnect } from "./reconnect.mjs";

// A page that is loaded again continues its conversation.
const threadId = (sessionStorage.thread ??= crypto.randomUUID());

function Approval({ interrupt, resolve }) {
  return (
    <div className="approval">
      <p>{interrupt.message}</p>
      <button onClick={() => resolve({ approved: true })}>Allow</button>{" "}
      <button onClick={() => resolve({ approved: false })}>Deny</button>
    </div>
  );
}

function Chat() {
  const { copilotkit } = useCopilotKit();
  const { agent } = useAgent();
  useReconnect(copilotkit, agent);
  useDefaultRenderTool();
  useInterrupt({ render: (props) => <Approval {...props} /> });
  return <CopilotChat threadId={threadId} />;
}

// The backend of this page adds the key, and sends the requests to /api/v1/copilotkit of Guildhall.
createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl="/copilotkit" enableInspector={false}>
    <Chat />
  </CopilotKitProvider>,
);
