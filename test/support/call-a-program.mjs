// Runs in a separate process: calls a tool of an upstream program. Says SIGINT when that signal comes, and then, how the call ended.
// Exits in the middle of it at SIGTERM. It uses the built product, which starts in half the time of the sources.
const [server, upstreamTool] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
process.on('SIGINT', () => say('SIGINT'));
process.once('SIGTERM', () => process.exit(1));

const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { createUpstreams } = await built('activities/clients/upstream/pool.js');
const { systemClock } = await built('apps/shared/clock.js');
const { parseConfig } = await built('apps/shared/config/config.js');
const { limitsOf } = await built('apps/shared/limits.js');
const { createResultCheck } = await built('apps/shared/schemas/schema-check.js');
const { pino } = await import('pino');

const settings = { timeLimitFactor: 100, mcpServers: { program: JSON.parse(server) } };
const config = parseConfig(settings, { baseDir: '/', stateDir: '/' });
const limits = limitsOf(config);
const pool = createUpstreams(config.mcpServers, pino({ level: 'silent' }), {
  ...{ settings: {}, fitsOutput: createResultCheck(limits) },
  ...{ clock: systemClock, limits },
});
const call = { upstream: 'program', upstreamTool, arguments: {} };
const answer = await pool.call(call, { signal: new AbortController().signal });
say(answer.kind === 'result' && answer.isError ? 'failed' : answer.kind);
await pool.close();
say('closed');
