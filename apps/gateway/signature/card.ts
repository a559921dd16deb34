import type { RequestHandler } from 'express';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import type { ReadDocument } from './document.ts';

/** Seconds after which a client may ask again when the signature cannot be read. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The signature by plain HTTP, for those who only want to know whether it is another one: its entity tag is its digest.
 * Whoever has it asks whether it is still good before each use. @see SEP-2091 (SIG-014, SIG-015)
 */
export function serveCard(readDocument: ReadDocument): RequestHandler {
  return async (request, response) => {
    try {
      const { text, digest } = await readDocument();
      const etag = `"${digest}"`;
      response.set({ etag, 'cache-control': 'private, no-cache' });
      // Not left to express: it sends everything to clients whose `fetch` adds "no-cache" to what they ask by themselves.
      if (tagsIn(request.headers['if-none-match']).includes(etag)) response.status(304).end();
      else response.type('json').send(text);
    } catch (error) {
      if (!(error instanceof CountersignError) || !error.retryable) throw error;
      response.set('retry-after', String(RETRY_AFTER_SECONDS));
      response.status(503).json({ error: 'the signature cannot be read now' });
    }
  };
}

/** Entity tags, compared weakly. @see RFC 9110, section 13.1.2 */
const tagsIn = (header = ''): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
