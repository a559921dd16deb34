import type { UpstreamItems, Upstreams } from '../../../../workflows/domain/upstream-ports.ts';
import {
  canBeAccepted,
  describedNameOf,
  DESCRIBED_KINDS,
  ITEM_KINDS,
  contentsOf,
  driftOf,
  type Listed,
  type AcceptedDescription,
  type DescribedKind,
  type DescribedName,
  type DescriptionStore,
  type Drift,
  type SignatureDocument,
} from '../../../../workflows/domain/tools/accepted-descriptions.ts';
import type { Config } from '../../../shared/config/config.ts';
import { createRedaction } from '../redaction.ts';
import { renderDocument } from './document.ts';

export interface OperatorDeps {
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
export interface Shown {
  readonly pinned: readonly AcceptedDescription[];
  readonly document: SignatureDocument;
}

/** Things of one kind that an upstream does not list, so that it is unknown whether they are gone. */
export interface Silence {
  readonly upstream: string;
  readonly kind: DescribedKind;
}

/** What departs from the signature, and what could not be looked at. */
export interface Departures {
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
