// Asks a resolver that takes the question and never answers, while garbage is collected again and again. Prints the
// verdict that this counts as. Needs `--expose-gc`: in the process of a test, jest keeps alive objects that no other
// code holds.
import { setInterval } from 'node:timers';
import { configuredResolvers } from '../../apps/approvals/resolvers/resolvers.ts';
import { systemClock } from '../../apps/shared/clock.ts';
import { testConfig } from './config.ts';
import { RuleEngine } from './rule-engine.ts';

const engine = new RuleEngine();
await engine.start();
engine.replies['silent'] = (response) => process.argv[2] === 'half an answer' && response.write('{"verdict":');
const resolvers = { silent: engine.setting('silent', { timeoutSeconds: 1 }) };
const config = await testConfig({ baseDir: '.', stateDir: '.' }, { approvals: { resolvers } });
const ask = (await configuredResolvers(config, systemClock)).get('silent')!;
setInterval(() => globalThis.gc?.(), 20).unref();
const stopping = new AbortController();
const said = await ask({ id: 'msg_arq_1_1_question', body: JSON.stringify({ data: {} }) }, stopping.signal);
process.stdout.write(JSON.stringify([said.verdict, said.reason, stopping.signal.aborted]));
process.exit(0);
