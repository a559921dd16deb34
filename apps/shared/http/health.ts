import express, { type RequestHandler, type Router } from 'express';
import type { Timing } from '../limits.ts';
import { inLogScope, traceIn } from '../log-scope.ts';

/** Why a process cannot do its work now, each with the next step. Empty when it can. */
export type Problems = () => Promise<readonly string[]>;

/** Probes come often, and from several sides; what they ask is asked once in so long. */
const KEEP_MS = 1_000;

/** Paths of probes. Orchestrators name any host in them, most often the address of the process. */
export const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);

/**
 * Answers probes: `/livez` whether the process runs, `/readyz` (and `/healthz`) whether it can do its work, with the reasons when it
 * cannot. A process that waits for its database is alive: to restart it helps nobody.
 */
export function healthRouter(problems: Problems, time: Timing, status: () => object = () => ({})): Router {
  const look = kept(problems, time);
  const router = express.Router();
  router.get('/livez', (_request, response) => void response.json({ status: 'ok' }));
  router.get(['/readyz', '/healthz'], async (_request, response) => {
    const found = await look();
    if (found.length === 0) return void response.json({ status: 'ok', ...status() });
    response.status(503).json({ status: 'unavailable', problems: found, ...status() });
  });
  return router;
}

function kept(problems: Problems, { clock, limits }: Timing): Problems {
  // What takes longer to tell counts as a problem of its own: a probe gives up soon.
  const unknown = [`it cannot be told within ${limits.healthMs / 1_000} seconds whether this process can work`];
  const look = async () => {
    const over = new AbortController();
    const late = clock.after(limits.healthMs, over.signal).then(() => unknown);
    return Promise.race([problems(), late])
      .catch(() => unknown)
      .finally(() => over.abort());
  };
  let last: { readonly at: number; readonly found: Promise<readonly string[]> } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (last === undefined || now - last.at > KEEP_MS) last = { at: now, found: look() };
    return last.found;
  };
}

/** What is logged of a request has the trace that the request names. @see W3C Trace Context */
export const traced: RequestHandler = (request, _response, next) => {
  inLogScope({ trace: traceIn(request.get('traceparent')) }, next);
};
