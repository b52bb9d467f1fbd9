import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

/** How a connection is broken. A stalled one stays open and silent. */
export type Fault = "reset" | "close" | "stall" | "refuse";

/** A fault of a connection, after some bytes of the response. */
export interface PlannedFault {
  fault: Fault;
  afterBytes: number;
}

/** Returns the fault of a new connection, by the number of faults before it. None leaves it alone. */
export type FaultPlan = (faults: number) => PlannedFault | undefined;

/** Forwards connections, and breaks those that the plan names. */
export class FaultyProxy {
  readonly faults: Fault[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, plan: FaultPlan) {
    this.#server = createServer((client) => {
      const planned = plan(this.faults.length);
      this.#keep(client);
      if (planned?.fault === "refuse") {
        this.faults.push("refuse");
        client.end("HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return;
      }
      const server = this.#keep(connect(Number(target.port), target.hostname));
      let left = planned?.afterBytes ?? Number.POSITIVE_INFINITY;
      client.pipe(server);
      server.on("data", (bytes) => {
        if (left <= 0) return;
        client.write(bytes.subarray(0, left));
        left -= bytes.length;
        if (left <= 0 && planned) this.#break(planned.fault, client, server);
      });
      server.on("end", () => left > 0 && client.end());
      client.on("close", () => server.destroy());
    });
  }

  static async start(target: string, plan: FaultPlan): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(new URL(target), plan);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #break(fault: Fault, client: Socket, server: Socket): void {
    this.faults.push(fault);
    if (fault === "stall") return;
    server.destroy();
    if (fault === "reset") client.resetAndDestroy();
    else client.end();
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
    return socket;
  }
}

/** Returns a function that returns numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
