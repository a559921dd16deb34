import type { Result } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import {
  type DescribedKind,
  signatureDocument,
  type SignatureContents,
  type SignatureDocument,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Redaction } from '../extensions/redaction.ts';
import { SIGNATURE_DIGEST_META } from './identifiers.ts';
import { publishedItem, publishedTools } from './published.ts';
import type { Rendering } from './rendering.ts';

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
 * The answer to `signature`: the document, and beside it what is not part of it. It does not depend on the caller, but is
 * for nobody without a token. @see SEP-2091
 */
export function renderSignature({ text, digest }: SignatureDocument): Result {
  const content = JSON.parse(text) as Record<string, unknown>;
  return { ...content, ttlMs: TTL_MS, cacheScope: 'private', _meta: { [SIGNATURE_DIGEST_META]: digest } };
}
