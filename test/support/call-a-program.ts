// Runs in a separate process: calls a tool of an upstream program. Says SIGINT when that signal comes, and then, how the call ended.
// Exits in the middle of it at SIGTERM.
import { openUpstreams } from './upstreams.ts';

const [upstream = '', upstreamTool = ''] = ['program', process.argv[3]];
const say = (line: string) => process.stdout.write(`${line}\n`);
process.on('SIGINT', () => say('SIGINT'));
process.once('SIGTERM', () => process.exit(1));

const pool = openUpstreams({ [upstream]: JSON.parse(process.argv[2] ?? '') as object });
const call = { upstream, upstreamTool, arguments: JSON.parse(process.argv[4] ?? '{}') as Record<string, string> };
const answer = await pool.call(call, { signal: new AbortController().signal });
say(answer.kind === 'result' && answer.isError ? 'failed' : answer.kind);
await pool.close();
say('closed');
