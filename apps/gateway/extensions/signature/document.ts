import type { RequestHandler } from 'express';
import type { Server, Result } from '@modelcontextprotocol/server';
import {
  signatureDocument,
  type SignatureContents,
  type SignatureDocument,
  type DescribedKind,
} from '../../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Redaction } from '../redaction.ts';
import type { Rendering } from '../../wire/rendering.ts';
import type { AcceptedDescriptions } from '../../offers/accepted-descriptions.ts';
import { CountersignError } from '../../../../workflows/domain/errors.ts';
import { SIGNATURE, SIGNATURE_DIGEST_META } from '../../wire/identifiers.ts';
import { anyParams } from '../../wire/schemas.ts';
import type { RequestContext } from '../../wire/request-context.ts';
import type { JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../../shared/sha256.ts';
import { publishedItem, publishedTools } from '../../wire/published.ts';

/** The signature as it is published now. Throws `ERR_DATABASE_UNAVAILABLE` when it was never read. */
export type ReadDocument = () => Promise<SignatureDocument>;

/** Made once for each set of accepted descriptions. */
export function createDocument(
  accepted: Pick<AcceptedDescriptions, 'contents'>,
  redaction: Pick<Redaction, 'withholds'>,
  rendering: Pick<Rendering, 'requestTools'>,
): ReadDocument {
  let made: { readonly contents: SignatureContents; readonly document: SignatureDocument } | undefined;
  return async () => {
    const contents = await accepted.contents();
    if (made?.contents !== contents) {
      made = { contents, document: renderDocument(contents, redaction, rendering) };
    }
    return made.document;
  };
}

/** Seconds after which a client may ask again when the signature cannot be read. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The signature by plain HTTP, for clients that only want to know whether it changed: its entity tag is its digest. A
 * client that has it asks before each use whether it is still good. @see SEP-2091 (SIG-014, SIG-015)
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

export interface SignatureMethodDeps {
  readonly readDocument: ReadDocument;
}

/** `signature`: everything that any list may ever have, in every revision. Being in it permits nothing (SIG-020). */
export function registerSignatureMethod(
  server: Server,
  { readDocument }: SignatureMethodDeps,
  { guarded }: RequestContext,
): void {
  server.setRequestHandler(SIGNATURE, { params: anyParams }, () =>
    guarded(SIGNATURE, async () => renderSignature(await readDocument())),
  );
}

/** How long a client may go on with what it read, in milliseconds, unless a list tells it sooner. */
const TTL_MS = 60_000;

/**
 * The signature with these contents and our own tools, each exactly as lists have it; but for what a list says of the contents
 * of a resource, which is not accepted.
 */
export function renderDocument(
  { tools, items }: SignatureContents,
  redaction: Pick<Redaction, 'withholds'>,
  rendering: Pick<Rendering, 'requestTools'>,
): SignatureDocument {
  const ofKind = (wanted: DescribedKind) => items.filter(({ kind }) => kind === wanted).map(publishedItem);
  return signatureDocument(
    {
      // As they go over the wire: members that are written at serialisation only are part of them.
      tools: JSON.parse(JSON.stringify(publishedTools(tools, redaction, rendering))) as JsonObject[],
      prompts: ofKind('prompt'),
      resources: ofKind('resource'),
      resourceTemplates: ofKind('resource_template'),
    },
    sha256,
  );
}

/**
 * The answer to `signature`: the document, and beside it what is not part of it. It does not depend on the caller, but
 * needs a token. @see SEP-2091
 */
export function renderSignature({ text, digest }: SignatureDocument): Result {
  const content = JSON.parse(text) as Record<string, unknown>;
  return { ...content, ttlMs: TTL_MS, cacheScope: 'private', _meta: { [SIGNATURE_DIGEST_META]: digest } };
}
