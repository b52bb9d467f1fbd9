// A graphile-worker as its manual starts one: woken by LISTEN, with polling as a fallback.
// Prints the start time of each task, on the monotonic clock that all processes of the machine share.
const { run } = require("graphile-worker");

async function main() {
  const runner = await run({
    connectionString: process.env.DATABASE_URL,
    concurrency: 1,
    noHandleSignals: true,
    pollInterval: 2000,
    logger: new (require("graphile-worker").Logger)(() => () => {}),
    taskList: {
      receive: async (payload) => {
        const at = process.hrtime.bigint();
        process.stdout.write(JSON.stringify({ n: payload.n, at: Number(at) }) + "\n");
      },
    },
  });
  process.stdout.write('{"n":0,"at":0}\n');
  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
  await runner.promise;
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
