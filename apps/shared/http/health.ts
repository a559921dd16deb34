import express, { type RequestHandler, type Router } from 'express';
import type { Timing } from '../limits.ts';
import { inLogScope, traceIn } from '../log-scope.ts';

/** The reasons why a process cannot work now, each with the next step. Empty when it can. */
export type Problems = () => Promise<readonly string[]>;

/** How long a result is reused: probes come often, and from several sides. */
const KEEP_MS = 1_000;

/**
 * Answers probes: `/livez` whether the process runs, `/readyz` (and `/healthz`) whether it can work, with the reasons when it cannot. A
 * process that waits for its database is alive, because a restart would not help.
 */
export function healthRouter(problems: Problems, time: Timing, status: () => object = () => ({})): Router {
  const check = cached(problems, time);
  const router = express.Router();
  router.get('/livez', (_request, response) => void response.json({ status: 'ok' }));
  router.get(['/readyz', '/healthz'], async (_request, response) => {
    const found = await check();
    if (found.length === 0) return void response.json({ status: 'ok', ...status() });
    response.status(503).json({ status: 'unavailable', problems: found, ...status() });
  });
  return router;
}

function cached(problems: Problems, { clock, limits }: Timing): Problems {
  // Probes give up soon, so a slow check counts as a problem.
  const unknown = [`this process could not find out within ${limits.healthMs / 1_000} seconds whether it can work`];
  const check = async () => {
    const over = new AbortController();
    const late = clock.after(limits.healthMs, over.signal).then(() => unknown);
    return Promise.race([problems(), late])
      .catch(() => unknown)
      .finally(() => over.abort());
  };
  let last: { readonly at: number; readonly found: Promise<readonly string[]> } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (last === undefined || now - last.at > KEEP_MS) last = { at: now, found: check() };
    return last.found;
  };
}

/** Log lines of a request carry the trace that the request names. @see W3C Trace Context */
export const traced: RequestHandler = (request, _response, next) => {
  inLogScope({ trace: traceIn(request.get('traceparent')) }, next);
};
