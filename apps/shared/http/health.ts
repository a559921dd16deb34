import express, { type RequestHandler, type Router } from 'express';
import type { Timing } from '../limits.ts';
import { inLogScope, traceIn } from '../log-scope.ts';
import { lookAt, type Need, type Unmet } from '../needs.ts';

/** How long a result is reused: probes come often, and from several sides. */
const KEEP_MS = 1_000;

/**
 * Answers probes: `/livez` whether the process runs, `/readyz` (and `/healthz`) whether it can work, with the reasons when it cannot
 * (`problems`). A process that waits for its database is alive, because a restart would not help. Of a process that works in part,
 * `concerns` say what waits: a balancer that took it away would make that worse.
 */
export function healthRouter(needs: readonly Need[], time: Timing, status: () => object = () => ({})): Router {
  const look = kept(needs, time);
  const router = express.Router();
  router.get('/livez', (_request, response) => void response.json({ status: 'ok' }));
  router.get(['/readyz', '/healthz'], async (_request, response) => {
    const unmet = await look();
    const problems = unmet.filter(({ isVital }) => isVital).map(({ problem }) => problem);
    const concerns = unmet.filter(({ isVital }) => !isVital).map(({ problem }) => problem);
    const isReady = problems.length === 0;
    response.status(isReady ? 200 : 503).json({
      status: isReady ? 'ok' : 'unavailable',
      ...(!isReady && { problems }),
      ...(concerns.length > 0 && { concerns }),
      ...status(),
    });
  });
  return router;
}

function kept(needs: readonly Need[], time: Timing): () => Promise<readonly Unmet[]> {
  let last: { readonly at: number; readonly found: Promise<readonly Unmet[]> } | undefined;
  return () => {
    const now = time.clock.monotonicMs();
    if (last === undefined || now - last.at > KEEP_MS) last = { at: now, found: lookAt(needs, time) };
    return last.found;
  };
}

/** Log lines of a request carry the trace that the request names. @see W3C Trace Context */
export const traced: RequestHandler = (request, _response, next) => {
  inLogScope({ trace: traceIn(request.get('traceparent')) }, next);
};
