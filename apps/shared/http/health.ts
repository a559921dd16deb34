import express, { type Router } from 'express';

/** Why a process cannot do its work now, each with the next step. Empty when it can. */
export type Problems = () => Promise<readonly string[]>;

/** Probes come often, and from several sides; what they ask is asked once in so long. */
const KEEP_MS = 1_000;
/** A probe gives up soon. What takes longer to tell counts as a problem of its own. */
const PATIENCE_MS = 3_000;
const UNKNOWN = ['it cannot be told within three seconds whether this process can work'];

/** Paths of probes. Orchestrators name any host in them, most often the address of the process. */
export const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);

/**
 * Answers probes: `/livez` whether the process runs, `/readyz` (and `/healthz`) whether it can do its work, with the reasons when it
 * cannot. A process that waits for its database is alive: to restart it helps nobody.
 */
export function healthRouter(problems: Problems, status: () => object = () => ({})): Router {
  const look = kept(problems);
  const router = express.Router();
  router.get('/livez', (_request, response) => void response.json({ status: 'ok' }));
  router.get(['/readyz', '/healthz'], async (_request, response) => {
    const found = await look();
    if (found.length === 0) return void response.json({ status: 'ok', ...status() });
    response.status(503).json({ status: 'unavailable', problems: found, ...status() });
  });
  return router;
}

function kept(problems: Problems): Problems {
  let last: { readonly at: number; readonly found: Promise<readonly string[]> } | undefined;
  return () => {
    if (last === undefined || performance.now() - last.at > KEEP_MS) {
      last = { at: performance.now(), found: soon(problems()).catch(() => UNKNOWN) };
    }
    return last.found;
  };
}

function soon(found: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve(UNKNOWN), PATIENCE_MS);
  });
  return Promise.race([found, late]).finally(() => clearTimeout(timer));
}
