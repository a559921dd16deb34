import { Pool } from 'undici';
import { measure, type Sample } from '../bench/stats.ts';
import { curableRequestOf, requestOf, type Kind } from './data.ts';

/** The address of requests, and the headers of each. */
export interface Target {
  readonly origin: string;
  readonly credentials: Readonly<Record<string, string>>;
}

/** Sends `count` requests, starting with number `from`. Each caller sends its next request once it has its answer. */
export interface Work {
  readonly kind: Kind | 'curable';
  readonly policies: number;
  readonly from: number;
  readonly count: number;
  readonly callers: number;
}

export interface Load {
  readonly sample: Sample;
  readonly permitted: number;
}

/** Connections that are kept open: the upper limit of concurrent callers. */
const CONNECTIONS = 16;
const pools = new Map<string, Pool>();

function poolOf(origin: string): Pool {
  const pool = pools.get(origin) ?? new Pool(origin, { connections: CONNECTIONS, pipelining: 1 });
  pools.set(origin, pool);
  return pool;
}

async function load({ origin, credentials }: Target, { kind, policies, from, count, callers }: Work): Promise<Load> {
  const headers = { 'content-type': 'application/json', ...credentials };
  const wanted = (nth: number) => (kind === 'curable' ? curableRequestOf(nth) : requestOf(nth, policies, kind));
  let permitted = 0;
  const ask = async (index: number) => {
    const body = JSON.stringify(wanted(from + index));
    const answer = await poolOf(origin).request({ method: 'POST', path: '/access/v1/evaluation', headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}: ${text}`);
    if ((JSON.parse(text) as { decision: boolean }).decision) permitted += 1;
  };
  const sample = await measure({ count, callers }, ask);
  return { sample, permitted };
}

// Runs in its own process, so that its garbage collection and compilation do not count against the contenders.
process.on('message', ({ target, work }: { target: Target; work: Work }) => {
  load(target, work).then(
    (done) => process.send?.({ done }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});
