import type { Upstreams } from '../../../workflows/domain/ports.ts';
import {
  driftOf,
  canBePinned,
  toolsInSignature,
  type Drift,
  type PinnedTool,
  type SignatureDocument,
  type ToolPins,
} from '../../../workflows/domain/tools/signature.ts';
import type { Config } from '../../shared/config/config.ts';
import { createRedaction } from '../redaction.ts';
import { renderDocument } from '../wire/render-signature.ts';

export interface OperatorDeps {
  readonly config: Pick<Config, 'gateway' | 'mcpServers' | 'tools'>;
  readonly pins: ToolPins & { accept(tools: readonly PinnedTool[], gone: readonly string[]): Promise<void> };
  readonly upstreams: Pick<Upstreams, 'tools'> & { refused(): readonly { readonly upstream: string }[] };
}

/** What is pinned, and the document that is published of it. */
export interface Shown {
  readonly pinned: readonly PinnedTool[];
  readonly document: SignatureDocument;
}

/** What departs from the signature, and what could not be looked at. */
export interface Departures {
  readonly drift: readonly Drift[];
  /** Upstreams that cannot be reached, or list nothing: what is pinned of them stays. */
  readonly silent: readonly string[];
}

/** The signature as an operator sees and accepts it. */
export interface Operator {
  show(): Promise<Shown>;
  compare(): Promise<Departures>;
  /** Accepts exactly what was seen, whatever the upstreams list by now. */
  accept(drift: readonly Drift[]): Promise<void>;
}

export function createOperator({ config, pins, upstreams }: OperatorDeps): Operator {
  const redaction = createRedaction(config.gateway.redactAbove, config.tools);
  return {
    async show() {
      const pinned = await pins.all();
      const tools = toolsInSignature(pinned, config);
      return { pinned, document: renderDocument(tools, redaction, config.gateway) };
    },
    async compare() {
      const [pinned, offered] = await Promise.all([pins.all(), upstreams.tools()]);
      const heard = new Set([...offered, ...upstreams.refused()].map(({ upstream }) => upstream));
      const silent = Object.keys(config.mcpServers).filter((upstream) => !heard.has(upstream));
      const listed = offered.filter(canBePinned);
      return { drift: driftOf(pinned, listed, (upstream) => silent.includes(upstream)), silent };
    },
    async accept(drift) {
      const tools = drift.flatMap(({ listed }) => (listed === undefined ? [] : [listed]));
      const gone = drift.flatMap(({ kind, name }) => (kind === 'gone' ? [name] : []));
      await pins.accept(tools, gone);
    },
  };
}
