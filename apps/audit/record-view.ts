import { isIntact } from '../../workflows/domain/gated-call/call-binding.ts';
import { dispositionOf, type Disposition } from '../../workflows/domain/gated-call/disposition.ts';
import { answersOf, type Answers } from '../../workflows/domain/gated-call/outcome-answers.ts';
import type { Evidence, OutcomeRecord, TerminalState } from '../../workflows/domain/gated-call/outcome-record.ts';
import { readSealedText } from './sealed-text.ts';
import type { StoredEvidence, StoredRecord } from './stores/outcome-record.store.ts';
import { sha256 } from '../shared/sha256.ts';

/** One line of the list. */
export interface RecordSummary {
  readonly outcomeRef: string;
  readonly taskId: string;
  readonly tool: string;
  readonly requester: string;
  readonly state: TerminalState;
  readonly disposition?: Disposition;
  readonly callDigest: string;
  readonly recordedAt: string;
  /** Whether the sealed text, digested again just now, still gives the stored digest. */
  readonly sealIntact: boolean;
}

/** A record as an auditor reads it. */
export interface RecordView extends RecordSummary {
  readonly headline: string;
  /** Absent when the sealed text can no longer be read as a record. */
  readonly answers?: Answers;
  readonly record?: OutcomeRecord;
  readonly seal: {
    readonly algorithm: 'sha-256';
    readonly recorded: string;
    readonly recomputed: string;
    /** The sealed text itself, byte for byte: anybody can digest it again. */
    readonly text: string;
  };
}

/** A list entry; the seal is checked here too. */
export function summaryOf(stored: StoredRecord): RecordSummary {
  const disposition = dispositionOf(stored.state);
  return {
    outcomeRef: stored.outcomeRef,
    taskId: stored.taskId,
    tool: stored.tool,
    requester: stored.requester,
    state: stored.state,
    ...(disposition && { disposition }),
    callDigest: stored.callDigest,
    recordedAt: stored.recordedAt,
    sealIntact: digestOf(stored.body) === stored.digest,
  };
}

/** The record with its answers, derived from the sealed text and held against the evidence. */
export function viewOf(stored: StoredEvidence): RecordView {
  const summary = summaryOf(stored);
  const seal = {
    algorithm: 'sha-256',
    recorded: stored.digest,
    recomputed: digestOf(stored.body),
    text: stored.body,
  } as const;
  const record = readSealedText(stored.body);
  if (!record) return { ...summary, sealIntact: false, headline: 'The tool may have run.', seal };
  const answers = answersOf(record, evidenceOf(stored, record, summary.sealIntact));
  return { ...summary, headline: answers.headline, answers, record, seal };
}

const digestOf = (text: string) => `sha-256:${sha256(text)}`;

function evidenceOf(stored: StoredEvidence, record: OutcomeRecord, sealIntact: boolean): Evidence {
  return {
    sealIntact,
    indexMatches:
      stored.outcomeRef === record.outcomeRef &&
      stored.taskId === record.taskId &&
      stored.state === record.state &&
      stored.tool === record.tool &&
      stored.callDigest === record.callDigest &&
      stored.requester === record.requester.subject &&
      stored.recordedAt === record.recordedAt,
    claimCount: stored.claimCount,
    invocationCount: stored.invocationCount,
    transitions: stored.transitions,
    boundArguments: boundArguments(stored, record),
    siblings: stored.siblings,
  };
}

function boundArguments(stored: StoredEvidence, record: OutcomeRecord): Evidence['boundArguments'] {
  if (stored.boundTool === null || stored.boundArguments === null) return 'removed';
  const bound = { tool: stored.boundTool, arguments: stored.boundArguments, callDigest: record.callDigest };
  return isIntact(bound, sha256) ? 'match' : 'differ';
}
