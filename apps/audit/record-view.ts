import { isSealingKeyMissing } from '../../workflows/domain/errors.ts';
import { dispositionOf } from '../../workflows/domain/gated-call/gated-call.ts';
import { answersOf, type Answers } from '../../workflows/domain/gated-call/outcome-answers.ts';
import type { Evidence, OutcomeRecord } from '../../workflows/domain/gated-call/outcome-record.ts';
import type { RecordSeals } from '../../workflows/domain/gated-call/sealing.ts';
import { readRecordText } from './record-text.ts';
import type { LateResult, OutcomeRecords, StoredEvidence, StoredRecord } from './stores/outcome-record.store.ts';
import { sha256 } from '../shared/crypto.ts';

/** The store of the records, and the keys that open their sealed parts. */
export interface RecordSource {
  readonly records: OutcomeRecords;
  readonly seals: RecordSeals;
}

/** One line of the list. `sealIntact`: the sealed text, digested again just now, still gives the stored digest. */
export type RecordSummary = ReturnType<typeof summarize>;

/** A record as an auditor reads it. */
export interface RecordView extends RecordSummary {
  readonly headline: string;
  /** Absent when the sealed text can no longer be read as a record. */
  readonly answers?: Answers;
  readonly record?: OutcomeRecord;
  /** It came after the record was written, is not part of it, and changes nothing in it. */
  readonly lateResult?: LateResult;
  readonly seal: {
    readonly algorithm: 'sha-256';
    readonly recorded: string;
    readonly recomputed: string;
    /** The sealed text itself, byte for byte, for readers who compute the digest themselves. */
    readonly text: string;
  };
}

/** Shown in place of a requester whose name can no longer be read. */
const UNREADABLE = '(cannot be read)';

/** A list entry; the seal is checked here too. */
export function summaryOf(stored: StoredRecord, seals: RecordSeals): RecordSummary {
  const keys = seals.ofRecord(stored.gatedCallId, stored.recordKey);
  try {
    return summarize(stored, readRecordText(stored.body, keys));
  } catch (error) {
    // The list shows the other records even if this process lacks the key of one.
    if (!isSealingKeyMissing(error)) throw error;
    return summarize(stored, undefined);
  }
}

function summarize(stored: StoredRecord, record: OutcomeRecord | undefined) {
  const { outcomeRef, taskId, tool, state, callDigest, recordedAt, body, digest } = stored;
  const disposition = dispositionOf(state);
  return {
    ...{ outcomeRef, taskId, tool, requester: record?.requester.subject ?? UNREADABLE, state },
    ...(disposition && { disposition }),
    ...{ callDigest, recordedAt, sealIntact: digestOf(body) === digest },
  };
}

/**
 * The record with its answers, derived from the sealed text and compared with the evidence. Throws `ERR_SEALING_KEY_UNAVAILABLE`
 * when this process cannot open it, which says nothing against the record.
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
  const requesterKey = seals.digest(record.requester.subject);
  const answers = answersOf(record, evidenceOf(stored, record, { sealIntact: summary.sealIntact, requesterKey }));
  const { lateResult } = stored;
  return { ...summary, headline: answers.headline, answers, record, ...(lateResult && { lateResult }), seal };
}

const digestOf = (text: string) => `sha-256:${sha256(text)}`;

function evidenceOf(
  stored: StoredEvidence,
  record: OutcomeRecord,
  { sealIntact, requesterKey }: { sealIntact: boolean; requesterKey: string },
): Evidence {
  const { binding, claimCount, invocationCount, transitions, siblings } = stored;
  const indexed = ['outcomeRef', 'taskId', 'state', 'tool', 'callDigest', 'recordedAt'] as const;
  return {
    sealIntact,
    indexMatches: stored.requesterKey === requesterKey && indexed.every((column) => stored[column] === record[column]),
    bindingMatches: binding === null || (binding.tool === record.tool && binding.callDigest === record.callDigest),
    ...{ claimCount, invocationCount, transitions, siblings },
  };
}
