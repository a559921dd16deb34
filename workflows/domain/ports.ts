import type { RecordedStatement } from './access-request/statement.ts';
import type { Approval, Decision, EvaluationRequest } from './authzen/evaluation.ts';
import type { JsonObject } from './canonical-json.ts';
import type { EndReason, GatedCallState } from './gated-call/gated-call.ts';
import type { CallBinding } from './gated-call/call-binding.ts';
import type { AccessRequestHandle, NewSubmission, TakenSubmission } from './gated-call/submission.ts';
import type { CataloguedForm, CatalogReference } from './submission-input/catalogs.ts';
import type { Option } from './submission-input/form-field.ts';
import type { Principal } from './principal.ts';
import type { RequestForm } from './submission-input/request-form.ts';
import type { RecordedPreview } from './tools/preview.ts';

/**
 * The policy decision point, with the obligations of its answers carried out: no allow has an unmet obligation. Throws
 * `ERR_PDP_UNAVAILABLE` when it gives no readable answer, and the errors of `Oblige`; never allows by error.
 */
export interface PolicyDecisionPoint {
  /** @param claims Of the caller's token, as they were when the call was made: they say how the caller signed in. */
  evaluate(request: EvaluationRequest, approval?: Approval, claims?: JsonObject): Promise<Decision>;
  /**
   * One decision for each request, in their order. The caller lets nothing pass unless each of them allows. An empty list is
   * refused with `ERR_PDP_UNAVAILABLE`.
   */
  evaluateAll(requests: readonly EvaluationRequest[], claims?: JsonObject): Promise<readonly Decision[]>;
}

/** How one request stands at the access request service. Unknown values are `pending`: not approved, read again. */
export type ResolutionStatus = {
  /** Where it states who resolved the request, and how. Not every service does, and some only after the end. */
  readonly statementEndpoint?: string;
} & (
  | { readonly kind: 'pending'; readonly retryAfterMs?: number }
  | { readonly kind: 'granted'; readonly approval: Approval }
  | { readonly kind: 'denied' | 'expired' | 'cancelled' | 'failed' }
);

/** The access request service (ARAP). Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when it may be asked again. */
export interface AccessRequestService {
  /** Submits under the submission's key: the same key and body always give the same handle. */
  submit(submission: NewSubmission): Promise<AccessRequestHandle>;
  read(handle: AccessRequestHandle): Promise<ResolutionStatus>;
  /**
   * Its statement about a request with this status; undefined when it states nothing. Never throws: a statement is for the record,
   * and an unreadable one is recorded as unreadable.
   */
  stated(handle: AccessRequestHandle, status: ResolutionStatus): Promise<RecordedStatement | undefined>;
  /** Gives the request up; a request that already ended is left as it is. */
  cancel(handle: AccessRequestHandle): Promise<void>;
}

/** The input that access requests need beside the call. */
export interface RequestForms {
  /**
   * The form for the schema at this address; `undefined` when there is none, or none that may be asked for. Throws
   * `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when that cannot be told now.
   */
  at(schemaUrl: string): Promise<RequestForm | undefined>;
}

/**
 * Catalogs that values of access requests are chosen from. Both answer `undefined` for what cannot be used, and throw
 * `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when that cannot be told now.
 */
export interface RequestCatalogs {
  /** The form with the catalogs that the document at this address has for its fields, all of them beside the submission URL. */
  at(catalogsUrl: string, form: RequestForm, submissionUrl: string): Promise<CataloguedForm | undefined>;
  /** The present options of a catalog for these values of its scope parameters; `too_many` for more than a person reads through. */
  look(
    reference: CatalogReference,
    of: { readonly search: string | undefined; readonly scope: ReadonlyMap<string, string> },
  ): Promise<readonly Option[] | 'too_many' | undefined>;
}

/** Names one round of questions, whose answers count once. */
export interface Redemption {
  readonly nonce: string;
  /** Instant (RFC 3339) from which it counts no more. */
  readonly expiresAt: string;
}

/** Everything that is fixed when a requestable denial opens a gated call. */
export interface Opening {
  readonly binding: CallBinding;
  readonly decision: Extract<Decision, { kind: 'requestable' }>;
  readonly submission: NewSubmission;
  /** What the server said would happen. It goes on record without its content. */
  readonly preview?: RecordedPreview | undefined;
  /** Whether its client can be asked within the task: it declared for this call that it can hold tasks and show forms. */
  readonly takesInput: boolean;
  /** W3C trace id of the request that opens it. Default: one of its own. */
  readonly trace?: string | undefined;
  /** When the call came, in milliseconds by the monotonic clock of this process. Default: now. */
  readonly cameAt?: number;
  /** Whether an outcome that the owner was not told of answers the call. Default: it does. */
  readonly takesUnread?: boolean;
  /** The answers that the call is opened with. They open one call, however often they are sent. */
  readonly redemption?: Redemption;
}

/** A gated call that may have no access request yet. */
export interface ToSubmit {
  readonly gatedCallId: string;
  /** The right to submit, when it came with the opening. Without it another process may have the right. */
  readonly submission?: TakenSubmission;
}

export type Opened =
  /**
   * `redeemed`: the call that these answers opened before, open or ended. `unread`: an identical one that was carried out a short
   * while ago, whose owner has not been told how it ended. Now the owner is told, and the next identical call is a new one.
   */
  | ({ readonly kind: 'opened' | 'joined' | 'redeemed' | 'unread'; readonly taskId: string } & ToSubmit)
  | { readonly kind: 'too_many' }
  /** An identical call ended in this very moment: decide again. */
  | { readonly kind: 'gone' }
  /** The caller has gone. Nothing was opened. */
  | { readonly kind: 'unwanted' }
  /** The redemption came too late. Nothing was opened. */
  | { readonly kind: 'late' };

/** A gated call as its owner may see it. */
export interface GatedCallView {
  readonly gatedCallId: string;
  readonly taskId: string;
  /** The name of the call for callers that cannot have a task. It is no task id, and none can be derived from it. */
  readonly requestRef: string;
  readonly state: GatedCallState;
  readonly reason?: EndReason;
  readonly tool: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly retainUntil: string;
  /** For how long the call has been in its state, in milliseconds, by the database's clock. */
  readonly inStateMs: number;
  /** The client of the task answered the question to open the page. */
  readonly isPageAnswered?: true;
  /** Instant (RFC 3339) until which the call waits for an approval, while it does. */
  readonly decideBy?: string;
  /** Address of the page on which people see and decide the access request, while the call waits for that, if its service has one. */
  readonly approvalPage?: string;
  /**
   * What approvers wrote for the agent, with the verdicts that decided the ended call. Words of people: they are quoted, and nothing reads
   * them.
   */
  readonly approverMessages?: readonly string[];
  /** The tool's own result as JSON text, once there is one. */
  readonly result?: string;
  readonly outcomeRef?: string;
  /** The questions that its owner has not answered. Only in the state `input_required`. */
  readonly questions?: readonly TaskQuestion[];
}

/** A question to the owner of a task: one form, under a key of its own. */
export interface TaskQuestion {
  readonly key: string;
  readonly form: RequestForm;
  /** Why it is asked again. */
  readonly again?: AskedAgain;
}

/** What was wrong with the last answer to a question. */
export type AskedAgain =
  /** Its form was closed or declined, by a person or by a host in a person's place. */
  | { readonly why: 'declined' }
  /** The answers of these fields do not fit; without fields, the answer has the wrong shape. */
  | { readonly why: 'misfit'; readonly fields: readonly string[] };

/** An answer that does not count: the key that it was given to, and the question that is asked in its place. */
export interface RefusedAnswer {
  readonly key: string;
  readonly next: TaskQuestion & { readonly again: AskedAgain };
}

/** A requester's answer to a question. */
export interface TaskAnswer {
  readonly key: string;
  readonly content: JsonObject;
}

/** One of an owner's own requests, as a list shows it: without its outcome. */
export type RecentRequest = Pick<GatedCallView, 'requestRef' | 'state' | 'tool' | 'createdAt'> & {
  readonly ageSeconds: number;
};

/** A gated call that has not ended, and whose first access request was submitted. */
export interface OpenCall {
  readonly id: string;
  readonly state: GatedCallState;
  readonly generation: number;
  /** Deadline of its state, in milliseconds since 1970, by the database's clock. */
  readonly deadlineMs: number;
  /** The same, to the microsecond: together with the id, its place in the order of pages. */
  readonly due: string;
}

/** The stored gated calls, as the gateway needs them. Throws `ERR_DATABASE_UNAVAILABLE`. */
export interface GatedCalls {
  /** Once the signal has fired, nothing is opened any more. A call that is committed by then stays. */
  open(opening: Opening, signal?: AbortSignal): Promise<Opened>;
  /** The open call that an identical one would join, or the ended one that it would be answered with (`unread`). */
  findOpen(
    binding: CallBinding,
    call?: Pick<Opening, 'cameAt' | 'takesUnread'>,
  ): Promise<({ readonly kind: 'joined' | 'unread'; readonly taskId: string } & ToSubmit) | undefined>;
  /** The task behind a request reference. For any other text, the id of a task that does not exist. */
  taskIdOf(requestRef: string): string;
  /** The owner of this caller's gated calls. */
  ownerOf(caller: Principal): string;
  /** The call behind a task, if it is this owner's and still kept. A call past a deadline is ended before it is shown. */
  findTask(taskId: string, owner: string): Promise<GatedCallView | undefined>;
  /** The same, for its owner to be shown: how it ended counts as told from then on. */
  readTask(taskId: string, owner: string): Promise<GatedCallView | undefined>;
  /** The call that the page of this request reference shows, to anyone who has the reference. `undefined`: there is none, or it is no longer kept. */
  atPage(requestRef: string): Promise<CallAtPage | undefined>;
  /** Notes that the client of a task answered the question to open the page. */
  answerPage(gatedCallId: string): Promise<void>;
  /** The owner's newest requests that are still kept, newest first, at most this many. */
  recent(owner: string, limit: number): Promise<readonly RecentRequest[]>;
  /** Ends the call as cancelled unless it is claimed or over. Answers the state afterwards. */
  cancel(gatedCallId: string): Promise<GatedCallState>;
  /**
   * Takes answers that fit their questions. Answers to questions that are not open are ignored. Answers the state afterwards.
   */
  answer(gatedCallId: string, answers: readonly TaskAnswer[]): Promise<GatedCallState>;
  /**
   * Asks questions again under new keys, because clients answer no key twice. A few times at most: then the call is denied. Questions that
   * are not open are ignored. Answers the state afterwards.
   */
  askAgain(gatedCallId: string, refused: readonly RefusedAnswer[]): Promise<GatedCallState>;
  /** Accepts a signed callback once. */
  acceptCallback(callback: {
    webhookId: string;
    bodyDigest: string;
    accessRequestId: string;
  }): Promise<'accepted' | 'repeated' | 'conflict'>;
  /**
   * The call that waits for people to decide this access request, for a signed question that asks for its preview. Undefined for any other
   * request, and for a message that came before.
   */
  waitingCall(question: {
    webhookId: string;
    bodyDigest: string;
    accessRequestId: string;
  }): Promise<WaitingCall | undefined>;
  /**
   * Puts a further preview of the call on record. `over`: the call no longer waits. `full`: it has as many as it can have. `taken`:
   * another process recorded one meanwhile. Only `kept` changes something.
   */
  addPreview(call: WaitingCall, preview: RecordedPreview): Promise<'kept' | 'over' | 'full' | 'taken'>;
}

/** What the page of a held call shows: nothing of the call itself, because it needs no sign-in. */
export type CallAtPage = Pick<GatedCallView, 'state' | 'decideBy' | 'approvalPage'>;

/** A gated call that people can decide now. */
export interface WaitingCall {
  readonly gatedCallId: string;
  readonly binding: CallBinding;
  /** How many previews of it are on record. */
  readonly previews: number;
}

/**
 * Contacts the access request service for a gated call that is still `preparing`, or waits for the process that does, and
 * records the handle. Throws `ERR_ACCESS_REQUEST_SERVICE_UNAVAILABLE` when there is no handle yet (the same call may
 * be repeated), `ERR_NOT_REQUESTABLE` when the service refused it for good (the gated call has then failed), and
 * `ERR_DENIAL_EXPIRED` when only the denial was too old to be submitted: the call has ended, and a new decision on it can
 * open another one. Answers the task when it came along with the handle; otherwise it has to be looked up.
 */
export type EnsureSubmitted = (call: ToSubmit) => Promise<GatedCallView | undefined>;
