import { useEffect } from "react";

const RETRY_MS = 1000;

// CopilotKit shows a broken connection as the end of the run. The run goes on at the server: connect shows the rest.
const isBroken = ({ code, error }) =>
  code === "agent_run_failed" || code === "agent_connect_failed" || (code === "agent_run_error_event" && error.code === "stream-closed");

/** Connects again after the connection to the server has broken, until it works. */
export function useReconnect(copilotkit, agent) {
  useEffect(() => {
    let timer;
    const connect = () => {
      timer = undefined;
      // connect repeats the whole conversation.
      agent.setMessages([]);
      copilotkit.connectAgent({ agent });
    };
    const { unsubscribe } = copilotkit.subscribe({ onError: (event) => void (isBroken(event) && (timer ??= setTimeout(connect, RETRY_MS))) });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [copilotkit, agent]);
}
