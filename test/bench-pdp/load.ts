import { Pool } from 'undici';
import { measure, type Sample } from '../bench/stats.ts';
import { askingQuestion, questionOf, type Kind } from './data.ts';

/** Where to ask: an origin, and what is sent along with each question. */
export interface Target {
  readonly origin: string;
  readonly credentials: Readonly<Record<string, string>>;
}

/** So many questions, from one on, by callers of whom each asks the next as soon as it has its answer. */
export interface Work {
  readonly kind: Kind | 'asking';
  readonly policies: number;
  readonly from: number;
  readonly count: number;
  readonly callers: number;
}

export interface Load {
  readonly sample: Sample;
  readonly permitted: number;
}

/** Connections that are kept open, and with them the most callers at once. */
const CONNECTIONS = 16;
const pools = new Map<string, Pool>();

function poolOf(origin: string): Pool {
  const pool = pools.get(origin) ?? new Pool(origin, { connections: CONNECTIONS, pipelining: 1 });
  pools.set(origin, pool);
  return pool;
}

async function load({ origin, credentials }: Target, { kind, policies, from, count, callers }: Work): Promise<Load> {
  const headers = { 'content-type': 'application/json', ...credentials };
  const question = (nth: number) => (kind === 'asking' ? askingQuestion(nth) : questionOf(nth, policies, kind));
  let permitted = 0;
  const ask = async (index: number) => {
    const body = JSON.stringify(question(from + index));
    const answer = await poolOf(origin).request({ method: 'POST', path: '/access/v1/evaluation', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}: ${text}`);
    if ((JSON.parse(text) as { decision: boolean }).decision) permitted += 1;
  };
  const sample = await measure({ count, callers }, ask);
  return { sample, permitted };
}

// In a process of its own, whose collections of garbage and compilations are nobody's measurement but its own.
process.on('message', ({ target, work }: { target: Target; work: Work }) => {
  load(target, work).then(
    (done) => process.send?.({ done }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});
