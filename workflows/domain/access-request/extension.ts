import { openStage, type Stage } from './stages.ts';

/** An approver gave the others of a stage more time. Instants are RFC 3339. */
export interface Extension {
  /** Counted from 1. */
  readonly stage: number;
  /** Counted from 1, in its stage. */
  readonly number: number;
  readonly by: { readonly issuer: string; readonly subject: string };
  /** The end of the stage before it, and after it. */
  readonly from: string;
  readonly to: string;
  readonly reason?: string;
  readonly at: string;
}

interface Extendable {
  readonly stages: readonly Stage[];
  /** The open one, counted from 1. */
  readonly stage: number;
  readonly stageEndsAt?: string | undefined;
  readonly expiresAt: string;
  readonly extensions?: readonly Extension[];
}

/** The next extension of a stage: its number, and the most seconds that it can add. */
export interface NextExtension {
  readonly number: number;
  readonly maxSeconds: number;
}

/**
 * How far the end of the open stage can still move, in whole seconds: no further than the stage allows, and not beyond the end of the
 * request. `maxSeconds` is 0 if the stage cannot be extended. `approvals.extend_stage` decides by the same rule, under the lock of the
 * request.
 */
export function nextExtension({ extensions = [], stageEndsAt, expiresAt, ...request }: Extendable): NextExtension {
  const made = extensions.filter(({ stage }) => stage === request.stage);
  const number = made.length + 1;
  const { maxExtensionSeconds } = openStage(request);
  if (maxExtensionSeconds === undefined || stageEndsAt === undefined) return { number, maxSeconds: 0 };
  const addedMs = made.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0);
  // Instants are cut to milliseconds here, so the end of the request may come up to one earlier.
  const leftMs = Date.parse(expiresAt) - Date.parse(stageEndsAt) - 1;
  return {
    number,
    maxSeconds: Math.max(0, Math.floor(Math.min(maxExtensionSeconds * 1_000 - addedMs, leftMs) / 1_000)),
  };
}
