// Loaded into Qwen Code 0.24.4 through NODE_OPTIONS.
//
// Qwen Code takes the output of a command at the 'exit' event, but Node may read more output until the 'close' event.
// So this delays 'exit' until 'close', by at most DRAIN_MS: a background process may keep the streams open.
'use strict';

const { ChildProcess } = require('node:child_process');

const DRAIN_MS = 1000;

const { emit, spawn } = ChildProcess.prototype;
const held = new WeakMap();

function release(child) {
  const exit = held.get(child);
  if (!exit) return;
  held.delete(child);
  clearTimeout(exit.timer);
  emit.call(child, 'exit', ...exit.values);
}

ChildProcess.prototype.emit = function (event, ...values) {
  if (event === 'exit') {
    // setImmediate runs after Node has polled the streams once more.
    const timer = setTimeout(() => setImmediate(release, this), DRAIN_MS);
    held.set(this, { values, timer });
    return true;
  }
  if (event === 'close') release(this);
  return emit.call(this, event, ...values);
};

// Removes this file from the NODE_OPTIONS of commands. The launcher of Qwen Code uses spawnSync, which is not affected.
const OPTION = /--require="[^"]*wait_for_output\.cjs" ?/;

ChildProcess.prototype.spawn = function (options) {
  const pairs = options.envPairs?.map((pair) => (pair.startsWith('NODE_OPTIONS=') ? pair.replace(OPTION, '') : pair));
  return spawn.call(this, { ...options, envPairs: pairs?.filter((pair) => pair !== 'NODE_OPTIONS=') });
};
