// Runs a real stdio MCP server and notes every tools/call that reaches it, before it is handed on. ¶ node
// recording-upstream.mjs FOLDER COMMAND [ARG …] ¶ FOLDER/calls.jsonl gets one synced line per call. While FOLDER/hold
// exists, calls are noted but kept back. While FOLDER/down exists, the server is dead: a running process is killed
// without a chance to clean up, and a new one ends at once. FOLDER/runs-PID exists for each started process, and is
// never removed.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, fsyncSync, mkdirSync, openSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [folder, command, ...args] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, `runs-${process.pid}`), '');
const isDown = () => existsSync(join(folder, 'down'));
if (isDown()) process.exit(1);
const journal = openSync(join(folder, 'calls.jsonl'), 'a');
const server = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
server.on('exit', (code) => process.exit(code ?? 1));

const held = [];
const isHeld = () => existsSync(join(folder, 'hold'));
const look = () => {
  if (isDown()) {
    server.kill('SIGKILL');
    process.kill(process.pid, 'SIGKILL');
  }
  while (held.length > 0 && !isHeld()) server.stdin.write(held.shift());
};
watch(folder, look);
look();

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method !== 'tools/call') return server.stdin.write(`${line}\n`);
    appendFileSync(journal, `${JSON.stringify({ at: Date.now(), ...message.params })}\n`);
    fsyncSync(journal);
    return isHeld() ? held.push(`${line}\n`) : server.stdin.write(`${line}\n`);
  })
  .on('close', () => server.stdin.end());
