import { isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { type Disposition, dispositionOf } from '../../workflows/domain/gated-call/gated-call.ts';
import { answersOf, type Answers } from '../../workflows/domain/gated-call/outcome-answers.ts';
import type { Evidence, OutcomeRecord, TerminalState } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordSeals } from '../../workflows/domain/gated-call/sealing.ts';
import { readRecordText } from './record-text.ts';
import type { LateResult, OutcomeRecords, StoredEvidence, StoredRecord } from './stores/outcome-record.store.ts';
import { sha256 } from '../shared/crypto.ts';

/** Where records come from, and what opens what is sealed in them. */
export interface RecordSource {
  readonly records: OutcomeRecords;
  readonly seals: RecordSeals;
}

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
  /** Came after the record was written. It is no part of it, and changes nothing that it says. */
  readonly lateResult?: LateResult;
  readonly seal: {
    readonly algorithm: 'sha-256';
    readonly recorded: string;
    readonly recomputed: string;
    /** The sealed text itself, byte for byte: anybody can digest it again. */
    readonly text: string;
  };
}

/** Shown in the place of somebody whose name cannot be read any more. */
const UNREADABLE = '(cannot be read)';

/** A list entry; the seal is checked here too. */
export function summaryOf(stored: StoredRecord, seals: RecordSeals): RecordSummary {
  const keys = seals.ofRecord(stored.gatedCallId, stored.recordKey);
  try {
    return summarize(stored, readRecordText(stored.body, keys));
  } catch (error) {
    // One record under a key that this process does not have keeps no other from being listed.
    if (!isSealingKeyMissing(error)) throw error;
    return summarize(stored, undefined);
  }
}

function summarize(stored: StoredRecord, record: OutcomeRecord | undefined): RecordSummary {
  const disposition = dispositionOf(stored.state);
  return {
    outcomeRef: stored.outcomeRef,
    taskId: stored.taskId,
    tool: stored.tool,
    requester: record?.requester.subject ?? UNREADABLE,
    state: stored.state,
    ...(disposition && { disposition }),
    callDigest: stored.callDigest,
    recordedAt: stored.recordedAt,
    sealIntact: digestOf(stored.body) === stored.digest,
  };
}

/**
 * The record with its answers, derived from the sealed text and held against the evidence. Throws `ERR_SEALING_KEY_UNAVAILABLE`
 * when this process cannot open it: that says nothing against the record.
 */
export function viewOf(stored: StoredEvidence, seals: RecordSeals): RecordView {
  const keys = seals.ofRecord(stored.gatedCallId, stored.recordKey);
  const record = readRecordText(stored.body, keys);
  const summary = summarize(stored, record);
  const seal = {
    algorithm: 'sha-256',
    recorded: stored.digest,
    recomputed: digestOf(stored.body),
    text: stored.body,
  } as const;
  if (!record) return { ...summary, sealIntact: false, headline: 'The tool may have run.', seal };
  const answers = answersOf(
    record,
    evidenceOf(stored, record, {
      sealIntact: summary.sealIntact,
      requesterKey: seals.digest(record.requester.subject),
    }),
  );
  const { lateResult } = stored;
  return { ...summary, headline: answers.headline, answers, record, ...(lateResult && { lateResult }), seal };
}

const digestOf = (text: string) => `sha-256:${sha256(text)}`;

function evidenceOf(
  stored: StoredEvidence,
  record: OutcomeRecord,
  { sealIntact, requesterKey }: { sealIntact: boolean; requesterKey: string },
): Evidence {
  return {
    sealIntact,
    indexMatches:
      stored.outcomeRef === record.outcomeRef &&
      stored.taskId === record.taskId &&
      stored.state === record.state &&
      stored.tool === record.tool &&
      stored.callDigest === record.callDigest &&
      stored.requesterKey === requesterKey &&
      stored.recordedAt === record.recordedAt,
    bindingMatches:
      stored.binding === null ||
      (stored.binding.tool === record.tool && stored.binding.callDigest === record.callDigest),
    claimCount: stored.claimCount,
    invocationCount: stored.invocationCount,
    transitions: stored.transitions,
    siblings: stored.siblings,
  };
}
