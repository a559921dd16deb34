import type { Logger } from 'pino';
import type { UpstreamTool } from '../../../workflows/domain/ports.ts';
import {
  isAsPinned,
  canBePinned,
  toolsInSignature,
  type AcceptedTools,
  type PinnedTool,
  type Pinning,
  type SignatureSettings,
  type ToolPins,
} from '../../../workflows/domain/tools/signature.ts';
import { listen } from '../../shared/database/listen.ts';
import { stopAll, type Running } from '../../shared/lifecycle.ts';
import { startRounds } from '../../shared/maintenance/rounds.ts';

/** Where the database tells, on commit, that the signature changed. The trigger on `gateway.pinned_tool` does. */
const CHANNEL = 'gateway_signature';
/** How old what is known may get without a word, should a notice be lost. */
const READ_EVERY_MS = 60_000;
/** Tools of which the log has said that they are not accepted; then it may say so again. */
const MAX_REPORTED = 1_000;

/**
 * The signature as this process knows it. It is kept in memory, so that no allowed call waits for the database. A tool that
 * nobody accepted is in none that was ever stored: what is known late can only refuse what was accepted a moment ago, or
 * go on with what had been accepted before.
 */
export interface Signature extends AcceptedTools {
  /** Every tool that any list may have, whoever asks. The same array until it changes. */
  tools(): Promise<readonly UpstreamTool[]>;
  /** Calls back whenever it has changed. Answers how to stop that. */
  onChange(listener: () => void): () => void;
}

export interface SignatureDeps {
  readonly pins: ToolPins;
  readonly pinning: Pinning;
  /** Every tool that the upstreams offer now. */
  readonly offered: () => Promise<readonly UpstreamTool[]>;
  readonly settings: SignatureSettings;
  /** A direct connection to the database: a transaction pooler swallows notices. */
  readonly listenUrl: string;
  readonly log: Logger;
}

interface Known {
  readonly pins: ReadonlyMap<string, PinnedTool>;
  readonly tools: readonly UpstreamTool[];
  /** Equal for equal signatures. */
  readonly mark: string;
}

export function createSignature(deps: SignatureDeps): Signature & { start(): Running } {
  const { pins, pinning, listenUrl, log } = deps;
  const reportUnaccepted = createReport(log);
  const { current, read, onChange } = createReader(deps);
  const readLater = () => void read().catch((err: unknown) => log.warn({ err }, 'the signature cannot be read'));

  async function among(tools: readonly UpstreamTool[]): Promise<readonly UpstreamTool[]> {
    let known = await current();
    const isUnseen = (tool: UpstreamTool) => !known.pins.has(tool.name) && canBePinned(tool);
    const unseen = pinning === 'first-seen' ? tools.filter(isUnseen) : [];
    if (unseen.length > 0) {
      await pins.add(unseen);
      known = await read();
    }
    const accepted = tools.filter((tool) => isAsPinned(tool, known.pins.get(tool.name)));
    if (accepted.length < tools.length) reportUnaccepted(tools.filter((tool) => !accepted.includes(tool)));
    return accepted;
  }

  return {
    among,
    async tools() {
      if (pinning === 'first-seen') await among(await deps.offered());
      return (await current()).tools;
    },
    onChange,
    /** Keeps what is known fresh. A database that is away now is read when it is there. */
    start() {
      const listening = listen({ url: listenUrl, channel: CHANNEL, log, onNotice: readLater });
      const rounds = startRounds({
        ...{ name: 'reading of the signature', pauseMs: () => READ_EVERY_MS, log },
        round: async () => void (await read()),
      });
      const notices = { name: 'notices of the signature', stop: async () => (await listening).stop() };
      return { name: 'signature', stop: () => stopAll([rounds, notices]) };
    },
  };
}

/** What is pinned, as it was read last. */
function createReader({ pins, settings }: Pick<SignatureDeps, 'pins' | 'settings'>) {
  const listeners = new Set<() => void>();
  let known: Known | undefined;
  let asked = 0;
  let shown = 0;

  /** What was asked for earlier may arrive later: it does not take the place of what is newer. */
  const read = async (): Promise<Known> => {
    const turn = (asked += 1);
    const next = knownFrom(await pins.all(), settings);
    if (known !== undefined && turn < shown) return known;
    shown = turn;
    if (known?.mark === next.mark) return known;
    known = next;
    for (const listener of listeners) listener();
    return next;
  };
  return {
    read,
    current: async (): Promise<Known> => known ?? read(),
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function knownFrom(pinned: readonly PinnedTool[], settings: SignatureSettings): Known {
  return {
    pins: new Map(pinned.map((pin) => [pin.name, pin])),
    tools: toolsInSignature(pinned, settings),
    mark: JSON.stringify(
      pinned.map(({ name, upstream, upstreamTool, digest }) => [name, upstream, upstreamTool, digest]),
    ),
  };
}

/** Says aloud that a tool is not as it was accepted: once for each description of it, however often it is listed. */
function createReport(log: Logger): (tools: readonly UpstreamTool[]) => void {
  const reported = new Set<string>();
  return (tools) => {
    for (const { name, upstream, digest } of tools) {
      const description = JSON.stringify([name, upstream, digest]);
      if (reported.has(description)) continue;
      if (reported.size >= MAX_REPORTED) reported.clear();
      reported.add(description);
      log.error(
        { alarm: 'tool_not_accepted', tool: name, upstream, digest },
        'a tool is not described as it was accepted, and is not offered; see `countersign signature diff`',
      );
    }
  };
}
