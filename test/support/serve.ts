import type { RequestListener } from 'node:http';
import { type HttpServer, listen } from '../../apps/shared/http/listen.ts';
import { CUT_AT_ONCE, systemTime } from './time.ts';

/** A server of a test's own, on a free port unless it is told one. Whoever waits for an answer when it closes is cut off. */
export function serve(app: RequestListener, port = 0): Promise<HttpServer> {
  return listen(app, { host: '127.0.0.1', port, ...systemTime, limits: CUT_AT_ONCE });
}
