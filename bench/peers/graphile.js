// A worker of graphile-worker as its manual starts one: woken by LISTEN, with the polling that stands behind it.
// Says when a task begins, on the clock that all processes of a machine share.
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
