import type { Result } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/ports.ts';
import { signatureDocument, type SignatureDocument } from '../../../workflows/domain/tools/signature.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Redaction } from '../redaction.ts';
import { SIGNATURE_DIGEST_META } from './identifiers.ts';
import { publishedTools } from './published-tool.ts';
import type { Rendering } from './rendering.ts';

/** How long a client may go on with what it read, in milliseconds, unless a list tells it sooner. */
const TTL_MS = 60_000;

/** The signature with these tools and our own, each exactly as lists have it. */
export function renderDocument(
  tools: readonly UpstreamTool[],
  redaction: Pick<Redaction, 'withholds'>,
  rendering: Pick<Rendering, 'requestTools'>,
): SignatureDocument {
  // As they go over the wire: members that are written at serialisation only are part of them.
  const listed = JSON.parse(JSON.stringify(publishedTools(tools, redaction, rendering))) as JsonObject[];
  return signatureDocument(listed, sha256);
}

/**
 * The answer to `signature`: the document, and beside it what is not part of it. It does not depend on the caller, but is
 * for nobody without a token. @see SEP-2091
 */
export function renderSignature({ text, digest }: SignatureDocument): Result {
  const content = JSON.parse(text) as Record<string, unknown>;
  return { ...content, ttlMs: TTL_MS, cacheScope: 'private', _meta: { [SIGNATURE_DIGEST_META]: digest } };
}
