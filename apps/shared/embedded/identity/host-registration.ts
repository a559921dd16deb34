import express, { type RequestHandler, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { createRateLimit } from '../../http/address-limit.ts';
import { hostsOf } from '../../http/known-hosts.ts';
import type { HostState } from './host-state.ts';

export const REGISTRATION_PATH = '/reg';
const MAX_BYTES = 16 * 1_024;
const MINUTE_SECONDS = 60;

interface Registration {
  readonly config: Config;
  readonly clients: HostState['clients'];
  readonly log: Logger;
}

/**
 * Stands before the registration of hosts. Any program of this machine may register without a credential, so the size, the rate and the
 * number are bounded. Registrations with which a person is signed in never give way, so a flood takes no host out.
 * @see RFC 7591, section 5
 */
export function registrationRouter({ config, clients, log }: Registration): Router {
  const { maxRegistrations, registrationsPerMinute } = config.identity.hosts;
  const limit = createRateLimit({ count: registrationsPerMinute, seconds: MINUTE_SECONDS });
  const router = express.Router();
  router.use(REGISTRATION_PATH, allowOwnPages(hostsOf(config.host, [config.urls.issuer])));
  router.post(REGISTRATION_PATH, refuseLarge, async (_request, response, next) => {
    const waitMs = await limit.take('all');
    if (waitMs !== undefined) {
      const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
      log.warn({ event: 'registration_refused' }, 'too many programs have registered in the last minute');
      response.set('Retry-After', String(seconds));
      return refuse(
        response,
        429,
        `Too many programs have registered in the last minute. Try again in ${seconds} seconds.`,
      );
    }
    if (clients.hasRoom()) return next();
    log.warn({ event: 'registration_refused', maxRegistrations }, 'no more programs can register');
    refuse(
      response,
      503,
      'No more programs can register. Raise identity.hosts.maxRegistrations, or delete identity.json.',
    );
  });
  return router;
}

function refuse(response: Response, status: number, text: string): void {
  response.status(status).json({ error: 'temporarily_unavailable', error_description: text });
}

/** A longer body is refused before it is read. A body without a stated length is bounded by the library. */
const refuseLarge: RequestHandler = (request, response, next) => {
  if (Number(request.get('Content-Length') ?? 0) <= MAX_BYTES) return next();
  response.set('Connection', 'close');
  const text = `The metadata of a program must be at most ${MAX_BYTES} bytes.`;
  response.status(413).json({ error: 'invalid_client_metadata', error_description: text });
};

/** Lets pages of this machine register, such as the MCP Inspector. The library would let pages of every site. */
function allowOwnPages(hosts: ReadonlySet<string>): RequestHandler {
  return (request, response, next) => {
    const origin = request.get('Origin');
    const isOwn = origin !== undefined && URL.canParse(origin) && hosts.has(new URL(origin).hostname);
    response.vary('Origin');
    if (!isOwn) {
      if (request.method !== 'OPTIONS' && origin === undefined) return next();
      return refuseOrigin(response);
    }
    response.set('Access-Control-Allow-Origin', origin);
    if (request.method !== 'OPTIONS') return next();
    response.set({
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'content-type',
      'Access-Control-Max-Age': '600',
    });
    response.status(204).end();
  };
}

function refuseOrigin(response: Response): void {
  const text = 'Pages of other sites cannot register a program here.';
  response.status(403).json({ error: 'invalid_request', error_description: text });
}
