import type { RequestListener } from 'node:http';
import { type HttpServer, listen } from '../../apps/shared/http/listen.ts';
import { CUT_AT_ONCE, systemTime } from './time.ts';

/** A server for one test, on a free port by default. When it closes, waiting clients are cut off. */
export function serve(app: RequestListener, port = 0): Promise<HttpServer> {
  return listen(app, { host: '127.0.0.1', port, ...systemTime, limits: CUT_AT_ONCE });
}
