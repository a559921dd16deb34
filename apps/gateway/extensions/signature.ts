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
  describedNameOf,
  type DescriptionStore,
  type Drift,
  driftOf,
  ITEM_KINDS,
  type Listed,
  type SignatureContents,
  signatureDocument,
  type SignatureDocument,
} from '../../../workflows/domain/tools/accepted-descriptions.ts';
import type { UpstreamItems, Upstreams } from '../../../workflows/domain/upstream-ports.ts';
import type { Config } from '../../shared/config/config.ts';
import { sha256 } from '../../shared/crypto.ts';
import type { AcceptedDescriptions } from '../offers/accepted-descriptions.ts';
import { SIGNATURE, SIGNATURE_DIGEST_META } from '../wire/identifiers.ts';
import { publishedItem, publishedTools } from '../wire/published.ts';
import type { Rendering } from '../wire/rendering.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { anyParams } from '../wire/schemas.ts';
import { createRedaction, type Redaction } from './redaction.ts';

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

/** `signature`: everything that any list may ever have, in every revision. Being in it permits nothing (SIG-020). */
export function registerSignatureMethod(server: Server, readDocument: ReadDocument, { guarded }: RequestContext): void {
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
function renderDocument(
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
function renderSignature({ text, digest }: SignatureDocument): Result {
  const content = JSON.parse(text) as Record<string, unknown>;
  return { ...content, ttlMs: TTL_MS, cacheScope: 'private', _meta: { [SIGNATURE_DIGEST_META]: digest } };
}

interface OperatorDeps {
  readonly config: Pick<Config, 'gateway' | 'mcpServers' | 'tools'>;
  readonly pins: DescriptionStore & {
    accept(pins: readonly AcceptedDescription[], gone: readonly DescribedName[]): Promise<void>;
  };
  readonly upstreams: Pick<Upstreams, 'tools'> & {
    readonly items: Pick<UpstreamItems, 'list'>;
    refused(): readonly { readonly upstream: string }[];
  };
}

/** What is pinned, and the document that is published of it. */
interface Shown {
  readonly pinned: readonly AcceptedDescription[];
  readonly document: SignatureDocument;
}

/** Things of one kind that an upstream does not list, so that it is unknown whether they are gone. */
export interface Silence {
  readonly upstream: string;
  readonly kind: DescribedKind;
}

/** What departs from the signature, and what could not be looked at. */
interface Departures {
  readonly drift: readonly Drift[];
  /** Upstreams that cannot be reached, or list nothing of a kind: what is pinned of it stays. */
  readonly silent: readonly Silence[];
}

/** The signature as an operator sees and accepts it. */
export interface Operator {
  show(): Promise<Shown>;
  compare(): Promise<Departures>;
  /** Accepts exactly what was seen, even if the upstreams list something else by now. */
  accept(drift: readonly Drift[]): Promise<void>;
}

export function createOperator({ config, pins, upstreams }: OperatorDeps): Operator {
  const redaction = createRedaction(config.gateway.redactAbove, config.tools);
  return {
    async show() {
      const pinned = await pins.all();
      const contents = contentsOf(pinned, config);
      return { pinned, document: renderDocument(contents, redaction, config.gateway) };
    },
    async compare() {
      const [pinned, offered] = await Promise.all([pins.all(), offeredBy(upstreams)]);
      const silent = silencesOf(Object.keys(config.mcpServers), pinned, [
        ...offered.map(silenceOf),
        ...upstreams.refused().map(({ upstream }) => ({ upstream, kind: 'tool' as const })),
      ]);
      const mayStillHave = (upstream: string, kind: DescribedKind) =>
        silent.some((one) => one.upstream === upstream && one.kind === kind);
      return { drift: driftOf(pinned, offered.filter(canBeAccepted), mayStillHave), silent };
    },
    async accept(drift) {
      const seen = drift.flatMap(({ listed }) => (listed === undefined ? [] : [listed]));
      await pins.accept(
        seen,
        drift.filter(({ change }) => change === 'gone'),
      );
    },
  };
}

const silenceOf = (thing: Listed): Silence => ({ upstream: thing.upstream, kind: describedNameOf(thing).kind });

/**
 * Of which kinds nothing was heard from these upstreams. Only where something of the kind is pinned, since it matters there,
 * and of an upstream from which nothing was heard at all.
 */
function silencesOf(
  upstreams: readonly string[],
  pinned: readonly AcceptedDescription[],
  heard: readonly Silence[],
): Silence[] {
  const textOf = ({ upstream, kind }: Silence) => `${kind} ${upstream}`;
  const [said, accepted] = [new Set(heard.map(textOf)), new Set(pinned.map(textOf))];
  const spoke = new Set(heard.map(({ upstream }) => upstream));
  const matters = (one: Silence) => accepted.has(textOf(one)) || (one.kind === 'tool' && !spoke.has(one.upstream));
  return upstreams
    .flatMap((upstream) => DESCRIBED_KINDS.map((kind) => ({ upstream, kind })))
    .filter((one) => !said.has(textOf(one)) && matters(one));
}

/** Everything that these upstreams offer now, tools first: where there is no room for all of it, they are pinned before others. */
export async function offeredBy(
  upstreams: Pick<Upstreams, 'tools'> & { readonly items: Pick<UpstreamItems, 'list'> },
): Promise<readonly Listed[]> {
  const [tools, ...items] = await Promise.all([
    upstreams.tools(),
    ...ITEM_KINDS.map((kind) => upstreams.items.list(kind)),
  ]);
  return [...tools, ...items.flat()];
}
