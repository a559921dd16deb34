import type { JsonObject } from '../../workflows/domain/canonical-json.ts';
import type { ApprovalsUnderTest } from '../support/approvals.ts';

const AGENTS = ['claude-code', 'codex', 'ci-bot', 'support-bot', 'ledger-bot', 'research-bot'] as const;
const TOOLS = [
  [
    'files__write_file',
    'write',
    (n: number) => ({ path: `/srv/reports/q${n}.md`, content: `Report ${n}\n`.repeat(20) }),
  ],
  ['files__move_file', 'write', (n: number) => ({ source: `/srv/in/${n}.csv`, destination: `/srv/out/${n}.csv` })],
  ['files__delete_file', 'delete', (n: number) => ({ path: `/tmp/cache/${n}` })],
  ['db__execute', 'write', (n: number) => ({ sql: `UPDATE orders SET state = 'sent' WHERE id = ${4_000 + n}` })],
  ['db__drop_index', 'delete', (n: number) => ({ index: `idx_${n}`, concurrently: true })],
  ['mail__send', 'external', (n: number) => ({ to: `customer${n}@corp.example`, subject: `Your order ${n}` })],
  [
    'bank__pay',
    'external',
    (n: number) => ({ amount: 100 + n, currency: 'EUR', to: `DE${n}00`, note: `Invoice ${n}` }),
  ],
  ['git__push', 'external', (n: number) => ({ branch: `feature/${n}`, remote: 'origin', force: false })],
  ['cloud__scale', 'write', (n: number) => ({ service: `api-${n}`, replicas: (n % 4) + 1 })],
  ['crm__update', 'write', (n: number) => ({ customer: `C-${n}`, fields: { tier: 'gold', since: 2_020 + (n % 5) } })],
  [
    'calendar__invite',
    'external',
    (n: number) => ({ title: `Review ${n}`, guests: [`a${n}@corp.example`, 'lead@corp.example'] }),
  ],
  ['search__index', 'write', (n: number) => ({ collection: `docs-${n}`, rebuild: n % 2 === 0 })],
] as const satisfies readonly (readonly [string, string, (n: number) => JsonObject])[];

/** Ten payments of one agent that are alike, and one that is not. */
export const KIND = { tool: 'bank__refund', alike: 10, odd: { amount: 48_000, to: 'XX99', order: 'A-7' } } as const;
/** A value that one request has in its arguments, on days of `LEAST_REQUESTS` and more. */
export const SOUGHT = 'customer17@corp.example';

/** Fewer requests have not all that a day's tasks need. */
export const LEAST_REQUESTS = 40;

export interface Day {
  /** The request to approve, the one to deny, and the ids of the alike ones. */
  readonly approve: string;
  readonly deny: string;
  readonly alike: readonly string[];
  readonly odd: string;
  readonly count: number;
}

/** Opens `count` requests of 12 tools by 6 agents, which alice decides; one kind of them repeats. */
export async function openDay(service: ApprovalsUnderTest, count: number): Promise<Day> {
  const open = async (tool: string, effect: string, args: JsonObject, agent: string) => {
    const context = { call: { tool, effect } };
    const members = ['agent', 'arguments', 'call', 'call_digest'];
    const subject = `${agent.split('-')[0]}-user`;
    return (await service.open({ tool, arguments: args, agent, subject, context, members })).id;
  };
  const ids: string[] = [];
  const alike: string[] = [];
  for (let n = 0; ids.length < count - KIND.alike - 1; n += 1) {
    const [tool, effect, argumentsOf] = TOOLS[n % TOOLS.length] ?? TOOLS[0];
    ids.push(await open(tool, effect, argumentsOf(n), AGENTS[n % AGENTS.length] ?? 'codex'));
  }
  for (let n = 0; n < KIND.alike; n += 1) {
    alike.push(await open(KIND.tool, 'external', { amount: 20 + n, to: `DE${n}11`, order: `A-${n}` }, 'support-bot'));
  }
  const odd = await open(KIND.tool, 'external', KIND.odd, 'support-bot');
  const [approve = '', deny = ''] = ids;
  return { approve, deny, alike, odd, count };
}
