/**
 * The sealed parts of a gated call, by table and column, with their keys. The call key is destroyed when retention ends; auditors
 * can read the parts under the record key afterwards.
 */
export const SEALED_COLUMNS = {
  'call_binding.sealed_content': 'call',
  'submission.sealed_body': 'call',
  'approval.sealed_body': 'call',
  'call_result.sealed_result': 'call',
  'question.sealed_form': 'call',
  'question.sealed_answer': 'call',
  'obligation.sealed_message': 'call',
  'call_binding.sealed_requester': 'record',
  'submission.sealed_handle': 'record',
  'submission.sealed_statement': 'record',
  'approval.sealed_reference': 'record',
  'preview.sealed_preview': 'record',
} as const satisfies Record<string, 'call' | 'record'>;

export type SealedColumn = keyof typeof SEALED_COLUMNS;

/** The data keys of one gated call as they are stored; null for one that was destroyed, or that is not needed. */
export interface WrappedKeys {
  readonly call: string | null;
  readonly record: string | null;
}

/**
 * Seals and opens the texts of one gated call. `generation` is for the tables that have a row for each. `open` throws
 * `ERR_SEAL_BROKEN` for a text that was altered, or was sealed for another column, call or generation. Both throw
 * `ERR_SEALING_KEY_UNAVAILABLE` when the data key is under a key that this process does not have.
 */
export interface CallSeals {
  seal(column: SealedColumn, text: string, generation?: number): string;
  open(column: SealedColumn, sealed: string, generation?: number): string;
}

/** Opens a record, and nothing else of its call. */
export interface RecordSeals extends Pick<Seals, 'digest'> {
  /** Throws as `CallSeals.open`, and `ERR_SEAL_BROKEN` for a text under the key of the call. */
  ofRecord(gatedCallId: string, recordKey: string): Pick<CallSeals, 'open'>;
}

/** The keys of this installation. */
export interface Seals {
  /** Name of the key of the configuration that wraps new data keys. */
  readonly currentKeyId: string;
  /** Names of the other keys of the configuration. */
  readonly earlierKeyIds: readonly string[];
  /** Equal for equal texts, and tells nothing about them without the key: `hmac-sha-256:` and 64 hex digits. */
  digest(text: string): string;
  /** Fresh data keys for a new call. */
  forNewCall(gatedCallId: string): CallSeals & { readonly wrapped: WrappedKeys };
  forCall(gatedCallId: string, wrapped: WrappedKeys): CallSeals;
  /** The seals that one of the two above gave for this call not long ago. */
  recall(gatedCallId: string): CallSeals | undefined;
  /** The same data keys under the current key of the configuration. */
  rewrap(wrapped: WrappedKeys): WrappedKeys;
}
