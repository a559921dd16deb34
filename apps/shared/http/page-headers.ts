import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * Headers of every page: only our own style, script and icon are used, nothing is inline, nobody frames us, no address
 * leaks to other sites. Forms, and redirects that answer them, lead to ourselves and to `formTargets` alone.
 */
export function securityHeaders(baseUrl: string, formTargets: readonly string[] = []): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        formAction: ["'self'", ...formTargets],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
        requireTrustedTypesFor: ["'script'"],
      },
    },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: new URL(baseUrl).protocol === 'https:',
  });
}

/** Nothing that is answered stays in the cache of a machine that people share. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.set('Cache-Control', 'no-store');
  next();
};

/** The headers of a site whose pages are all for somebody who signed in. */
export const pageHeaders = (baseUrl: string): RequestHandler[] => [securityHeaders(baseUrl), noStore];

/**
 * Response headers of services that answer with JSON alone: what keeps a browser that is led there from making anything
 * of the answer. Those that only mean something for pages are in `page-headers.ts`.
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
