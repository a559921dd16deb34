import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * Headers of every page: only our own style, script and icon are used, nothing is inline, nobody frames us, forms go
 * nowhere else, no address leaks to other sites, and nothing stays in a shared machine's cache.
 */
export function pageHeaders(baseUrl: string): RequestHandler[] {
  const isHttps = new URL(baseUrl).protocol === 'https:';
  return [
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          styleSrc: ["'self'"],
          imgSrc: ["'self'"],
          formAction: ["'self'"],
          frameAncestors: ["'none'"],
          baseUri: ["'none'"],
          requireTrustedTypesFor: ["'script'"],
        },
      },
      referrerPolicy: { policy: 'no-referrer' },
      strictTransportSecurity: isHttps,
    }),
    (_request, response, next) => {
      response.set('Cache-Control', 'no-store');
      next();
    },
  ];
}
