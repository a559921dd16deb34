// Runs a real stdio MCP server, and notes every tools/call before the server reads it:
//   node recording-upstream.mjs FOLDER SERVER.js [ARG …]
// - FOLDER/calls.jsonl gets one synced line for each call.
// - While FOLDER/hold exists, calls are noted but kept back.
// - While FOLDER/down exists, the server is dead: a running process is killed without a chance to clean up, and a new
//   one ends at once.
// - FOLDER/runs-PID exists for each process that was ever started.
// The server runs in this process and reads from a stream of ours, because a second process for each would cost a
// fifth of the start of a whole installation.
import { appendFileSync, existsSync, fsyncSync, mkdirSync, openSync, watch, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [folder, server, ...args] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, `runs-${process.pid}`), '');
const isDown = () => existsSync(join(folder, 'down'));
if (isDown()) process.exit(1);
const journal = openSync(join(folder, 'calls.jsonl'), 'a');

const held = [];
const input = new PassThrough();
const isHeld = () => existsSync(join(folder, 'hold'));
const look = () => {
  if (isDown()) process.kill(process.pid, 'SIGKILL');
  while (held.length > 0 && !isHeld()) input.write(held.shift());
};
const watcher = watch(folder, look);
look();

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method !== 'tools/call') return input.write(`${line}\n`);
    appendFileSync(journal, `${JSON.stringify({ at: Date.now(), ...message.params })}\n`);
    fsyncSync(journal);
    return isHeld() ? held.push(`${line}\n`) : input.write(`${line}\n`);
  })
  .on('close', () => {
    watcher.close();
    input.end();
  });

Object.defineProperty(process, 'stdin', { value: input });
process.argv = [process.argv[0], resolve(server), ...args];
await import(pathToFileURL(resolve(server)).href);
