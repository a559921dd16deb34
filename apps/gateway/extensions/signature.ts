import type { Result, Server } from '@modelcontextprotocol/server';
import type { RequestHandler } from 'express';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import {
  type AcceptedDescription,
  canBeAccepted,
  contentsOf,
  DESCRIBED_KINDS,
  type DescribedKind,
  type DescribedName,
  type DescriptionStore,
  type Drift,
  driftOf,
  type Listed,
  type SignatureContents,
  signatureDocument,
  type SignatureDocument,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import { ITEM_KINDS, type UpstreamItems, type Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import { ownItems } from '../card/card.ts';
import type { AcceptedDescriptions } from '../offers/accepted-descriptions.ts';
import { SIGNATURE, SIGNATURE_DIGEST_META } from '../wire/identifiers.ts';
import { publishedItem, publishedTools } from '../wire/published.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { ContextOf } from '../wire/request-context.ts';
import { anyParams } from '../wire/schemas.ts';
import { createRedaction, type Redaction } from './redaction.ts';

/** The signature as it is published now. Throws `ERR_DATABASE_UNAVAILABLE` if it could never be read. */
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

/** When a client may retry if the signature cannot be read. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The signature over plain HTTP, for clients that only check whether it changed: its entity tag is its digest. A client revalidates its
 * copy before each use. @see SEP-2091 (SIG-014, SIG-015)
 */
export function serveCard(readDocument: ReadDocument): RequestHandler {
  return async (request, response) => {
    try {
      const { text, digest } = await readDocument();
      const etag = `"${digest}"`;
      response.set({ etag, 'cache-control': 'private, no-cache' });
      // Not left to express, which ignores the tag of clients whose `fetch` adds "no-cache" by itself.
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

/** `signature`: every entry that a list may have, in every revision. An entry in it does not permit anything (SIG-020). */
export function registerSignatureMethod(server: Server, readDocument: ReadDocument, contextOf: ContextOf): void {
  server.setRequestHandler(SIGNATURE, { params: anyParams }, (_params, ctx) =>
    contextOf(ctx).guarded(SIGNATURE, async () => renderSignature(await readDocument())),
  );
}

/** How long a client may use its copy, unless it gets a change notification earlier. */
const TTL_MS = 60_000;

/**
 * The signature with these contents and what is the gateway's own, each exactly as in lists. It leaves out what a list says about the contents
 * of a resource, because that is not accepted.
 */
function renderDocument(
  { tools, items }: SignatureContents,
  redaction: Pick<Redaction, 'withholds'>,
  rendering: Pick<Rendering, 'requestTools'>,
): SignatureDocument {
  const ofKind = (wanted: DescribedKind) =>
    [...items.filter(({ kind }) => kind === wanted), ...ownItems(wanted)].map(publishedItem);
  return signatureDocument(
    {
      // As on the wire: some members are added at serialisation.
      tools: JSON.parse(JSON.stringify(publishedTools(tools, redaction, rendering))) as JsonObject[],
      prompts: ofKind('prompt'),
      resources: ofKind('resource'),
      resourceTemplates: ofKind('resource_template'),
    },
    sha256,
  );
}

/** The answer to `signature`: the document, and members that are not part of it. It is the same for every caller. @see SEP-2091 */
function renderSignature({ text, digest }: SignatureDocument): Result {
  const content = JSON.parse(text) as Record<string, unknown>;
  return { ...content, ttlMs: TTL_MS, cacheScope: 'private', _meta: { [SIGNATURE_DIGEST_META]: digest } };
}

interface OperatorDeps {
  readonly config: Pick<Config, 'gateway' | 'mcpServers' | 'tools'>;
  readonly store: DescriptionStore & {
    accept(descriptions: readonly AcceptedDescription[], gone: readonly DescribedName[]): Promise<void>;
  };
  readonly upstreams: Pick<Upstreams, 'tools'> & {
    readonly items: Pick<UpstreamItems, 'list'>;
    refused(): readonly { readonly upstream: string }[];
  };
}

/** Items of one kind that an upstream does not list now, so that it is unknown whether they are gone. */
export interface Silence {
  readonly upstream: string;
  readonly kind: DescribedKind;
}

/** The signature as an operator reads and accepts it. */
export type Operator = ReturnType<typeof createOperator>;

export function createOperator({ config, store, upstreams }: OperatorDeps) {
  const redaction = createRedaction(config.gateway.redactAbove, config);
  return {
    /** The accepted descriptions, and the document that is published of them. */
    async show() {
      const accepted = await store.all();
      const contents = contentsOf(accepted, config);
      return { accepted, document: renderDocument(contents, redaction, config.gateway) };
    },
    /** The differences from the signature. `silent`: upstreams that list nothing of a kind now; their accepted descriptions stay. */
    async compare() {
      const [accepted, offered] = await Promise.all([store.all(), offeredBy(upstreams)]);
      const silent = silencesOf(Object.keys(config.mcpServers), accepted, [
        ...offered,
        ...upstreams.refused().map(({ upstream }) => ({ upstream, kind: 'tool' as const })),
      ]);
      const mayStillHave = (upstream: string, kind: DescribedKind) =>
        silent.some((one) => one.upstream === upstream && one.kind === kind);
      return { drift: driftOf(accepted, offered.filter(canBeAccepted), mayStillHave), silent };
    },
    /** Accepts exactly these descriptions, even if the upstreams list others by now. */
    async accept(drift: readonly Drift[]) {
      const seen = drift.flatMap(({ listed }) => (listed === undefined ? [] : [listed]));
      await store.accept(
        seen,
        drift.filter(({ change }) => change === 'gone'),
      );
    },
  };
}

/** The kinds that upstreams list nothing of, if descriptions of the kind are accepted; and upstreams that list nothing at all. */
function silencesOf(
  upstreams: readonly string[],
  accepted: readonly AcceptedDescription[],
  heard: readonly Silence[],
): Silence[] {
  const textOf = ({ upstream, kind }: Silence) => `${kind} ${upstream}`;
  const [said, known] = [new Set(heard.map(textOf)), new Set(accepted.map(textOf))];
  const spoke = new Set(heard.map(({ upstream }) => upstream));
  const matters = (one: Silence) => known.has(textOf(one)) || (one.kind === 'tool' && !spoke.has(one.upstream));
  return upstreams
    .flatMap((upstream) => DESCRIBED_KINDS.map((kind) => ({ upstream, kind })))
    .filter((one) => !said.has(textOf(one)) && matters(one));
}

/** Every item that these upstreams offer now. Tools come first: if there is no room for all, tools are accepted before others. */
export async function offeredBy(
  upstreams: Pick<Upstreams, 'tools'> & { readonly items: Pick<UpstreamItems, 'list'> },
): Promise<readonly Listed[]> {
  const [tools, ...items] = await Promise.all([
    upstreams.tools(),
    ...ITEM_KINDS.map((kind) => upstreams.items.list(kind)),
  ]);
  return [...tools, ...items.flat()];
}
