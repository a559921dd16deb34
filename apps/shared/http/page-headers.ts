import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** The only policy of Trusted Types that a script of ours makes. It allows one address: `/service-worker.js`. */
const SERVICE_WORKER_POLICY = 'service-worker';

/**
 * Headers of every page. They allow only our own style, script, icon and addresses, and no inline code. Other sites cannot frame a page or learn
 * its address. Forms, and redirects that answer them, lead only to this site and to `formTargets`.
 */
export function securityHeaders(baseUrl: string, formTargets: readonly string[] = []): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        connectSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        formAction: ["'self'", ...formTargets],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
        requireTrustedTypesFor: ["'script'"],
        trustedTypes: [SERVICE_WORKER_POLICY],
      },
    },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: new URL(baseUrl).protocol === 'https:',
  });
}

/** Keeps answers out of the cache of a shared machine. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.set('Cache-Control', 'no-store');
  next();
};

/** The headers of a site whose pages all need a sign-in. */
export const pageHeaders = (baseUrl: string): RequestHandler[] => [securityHeaders(baseUrl), noStore];

/**
 * Response headers of services that answer only with JSON: they keep a browser from interpreting the answer. Headers that only matter
 * for pages are off.
 */
export function apiHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: { policy: 'same-origin' },
    originAgentCluster: false,
    referrerPolicy: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xPoweredBy: true,
    xXssProtection: false,
  });
}
