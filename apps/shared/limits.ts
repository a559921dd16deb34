import type { Clock } from './clock.ts';

/**
 * Time limits, after which the product goes on without an answer. They are in milliseconds, for a machine and a network of ordinary speed,
 * and multiplied by `timeLimitFactor` of the configuration.
 *
 * Four kinds of durations are not limits, and are never multiplied:
 * - settings of the configuration, which an operator chooses one by one;
 * - promises to callers, approvers and auditors: deadlines of calls and requests, retention, lengths of sessions;
 * - durations that safety depends on: how long a decision (5 seconds, in SQL), a list of revoked approvals, the keys of an issuer, a token
 *   or a signature is valid, how far clocks may be apart, and how exactly they are compared;
 * - pauses between two attempts.
 *
 * Two kinds of limits need no factor, because no call fails by them when a machine stands still. After those of the engine
 * (`workflows/gated-call.workflow.ts`), the workflow reads the row again, and repeats only a step that provably sent nothing. Those that
 * undici has by itself (10 seconds to connect, 300 for an answer) count the ticks of its own timer, which stands still with the process.
 */
const DEFAULTS = {
  /** A call of a tool waits so long at the gateway for the calls before it. Afterwards it is turned away, before anything was done for it. */
  admissionMs: 500,

  /** A connection to the database, also the wait for one of the pool's. */
  databaseConnectMs: 5_000,
  databaseStatementMs: 5_000,
  databaseLockMs: 2_000,
  /** A transaction whose client is silent; then the database ends the connection. */
  databaseIdleTransactionMs: 10_000,
  /** The answer to a statement. More than `databaseStatementMs`, so that only a database that has vanished exceeds it. */
  databaseAnswerMs: 7_000,
  migrationLockMs: 120_000,
  /** Recording a new call while the database is away. The caller waits; a repetition joins the recorded call. */
  callOpeningMs: 5_000,
  /** Recording the handle of a submitted request while the database is away. The caller waits; a repetition finds it. */
  handleRecordingMs: 5_000,
  /** The wait for another process that opens the same call. Afterwards the caller is told to repeat it. */
  joiningMs: 10_000,
  /**
   * The lease of one process to submit an access request. More than `accessRequestServiceMs` and `handleRecordingMs` together, so that
   * an expired lease means that its holder died. If two processes submit it all the same, the key of the request makes it one.
   */
  submissionLeaseMs: 30_000,
  /** The lease of one process on a row of an outbox. After it, another process handles the row, too. */
  outboxLeaseMs: 60_000,
  /**
   * The lease of one process to ask an automatic resolver. More than the longest `timeoutSeconds` of a resolver (a minute) and the three
   * statements around it together. If two processes ask all the same, the resolver gets the same question twice, and one answer counts.
   */
  questionLeaseMs: 120_000,

  pdpAnswerMs: 5_000,
  /** One answer of a decision point behind ours. Less than `pdpAnswerMs`, so that our own answer is still in time. */
  foreignPdpAnswerMs: 4_000,
  /** The metadata of a decision point, and the keys of its signature. */
  pdpMetadataMs: 5_000,
  /** The keys of a decision point, for a service that verifies its signatures. */
  pdpKeysMs: 5_000,
  /** The keys of the access request service. The decision point reads them during a decision, so less than `pdpAnswerMs`. */
  approvalKeysMs: 2_000,
  /** The list of revoked approvals, also read during a decision. Without the list, no approval counts. */
  revocationsMs: 2_000,
  /** The denial that the decision point has recorded under an evaluation id. */
  recordedDenialMs: 5_000,
  accessRequestServiceMs: 10_000,
  /** The statement of the access request service about an ended request. Without it, the record says so. */
  resolutionStatementMs: 5_000,
  /** A schema of an access request, its list of catalogs, or a page of one. */
  requestDocumentMs: 5_000,
  catalogMs: 10_000,
  /** All catalogs of one round of questions together, until the last one begins. */
  catalogsOfRoundMs: 10_000,
  /**
   * A service that reports whether a requirement is met. Short, because the decision gets old meanwhile: the database refuses a decision
   * older than five seconds, regardless of this limit, and the call is decided anew.
   */
  requirementMs: 2_000,
  /** A receiver of obligations. Short for the same reason. */
  obligationMs: 2_000,
  /** A receiver of callbacks and notifications. */
  webhookMs: 15_000,

  /** The identity provider's metadata and keys, for the verification of a token. */
  issuerMs: 5_000,
  /** The identity provider, at a sign-in. A row of the database is locked meanwhile, so less than `databaseStatementMs`. */
  signInMs: 4_000,
  /** The document by which a host names itself at the embedded issuer. A person or a program waits meanwhile. */
  hostDocumentMs: 2_500,
  /** The report of a sign-out from the embedded issuer to our own pages. Without it, they learn of it when they check the person again. */
  signOutReportMs: 2_500,
  /** A token for one of our programs, from its issuer: metadata and grant, each. */
  tokenMs: 10_000,

  /** The first byte of an answer to a client that takes streams. Some give up after a minute without one. */
  firstByteMs: 10_000,

  /** Connecting to an upstream. Long, because a package runner may have to download the server first. */
  upstreamConnectMs: 60_000,
  /** The discovery of an upstream's protocol revision. */
  upstreamProbeMs: 10_000,
  /** The check whether an idle session still exists. */
  upstreamPingMs: 2_000,
  /** All pages of a list of an upstream together. */
  upstreamListMs: 15_000,
  /** The wait of a call or a list for an upstream that still connects or lists. Afterwards it goes on without that upstream. */
  upstreamWaitMs: 15_000,
  /** A subscription to the changes of an upstream. */
  upstreamListenMs: 10_000,
  /** The wait for the stream on which an upstream of an earlier revision asks. It may not have one, or not say that it has. */
  upstreamStreamMs: 2_000,
  /** A preview of a call, from its beginning to the answer. The call is put on hold without one afterwards. */
  previewMs: 5_000,
  /** The answer of the gateway to an approver who takes a preview again. Longer than the preview itself. */
  previewAnswerMs: 8_000,
  /** An outcome probe. Without an answer, the outcome stays unknown. */
  outcomeProbeMs: 5_000,
  /** From the claim until the step that sends has begun in the process that claimed. Afterwards the process makes room for another claim. */
  claimHandOverMs: 10_000,
  /**
   * From the permit to send until the call is sent. It keeps a process that stood still from sending late. A slow machine needs longer
   * for the same steps, so it is multiplied. The execution deadline and the single permit hold regardless.
   */
  sendWindowMs: 2_000,

  /** One request to the engine. A request that was carried out all the same does no harm. */
  engineMs: 5_000,

  /** One answer of a service to the command line. */
  commandMs: 10_000,
  /** One answer to `doctor`, which reports a missing one. */
  examinationMs: 5_000,
  /** The check whether the recorded stack answers. Without an answer, it counts as gone. */
  stackProbeMs: 2_000,

  /** A request of a host that only launches programs waits so long for a person to sign in. Hosts give up after 30 to 60 seconds. */
  hostSignInMs: 25_000,
  /** A message of such a host waits so long for a gateway that is not there. */
  gatewayAwayMs: 8_000,
  /** An answer that has begun waits so long for a gateway that starts again. */
  gatewayRestartMs: 30_000,
  /** When such a host closes its side, answers under way still have this long, and so has the end of the session. */
  hostEndMs: 1_000,
  /** A person at the pages of an issuer, whom `countersign stdio` waits for. */
  browserSignInMs: 300_000,

  /** The checks behind a probe. */
  healthMs: 3_000,
  /** A mapping whose cost grows with the message. The process serves no other request meanwhile. */
  mappingMs: 250,
  /** A check against a schema of an upstream, in a thread of its own. */
  schemaCheckMs: 250,
  /** The compilation of such a schema, once. */
  schemaCompileMs: 2_000,
  /** The start of that thread, which loads our own code. A busy machine takes seconds. */
  schemaThreadMs: 30_000,

  /** The stop of a part without its own limit. Then the process ends in the middle of its work. */
  stopMs: 5_000,
  /** Requests in flight when a server closes. Then their connections are cut. Less than `stopMs`. */
  serverCloseMs: 3_000,
} as const;

export type Limits = { readonly [name in keyof typeof DEFAULTS]: number };

/** The limits, multiplied by `timeLimitFactor`: a whole number of at least 1. */
export function limitsOf({ timeLimitFactor }: { readonly timeLimitFactor: number }): Limits {
  const entries = Object.entries(DEFAULTS).map(([name, ms]) => [name, ms * timeLimitFactor]);
  return Object.fromEntries(entries) as Limits;
}

/** The `main.ts` of a process hands both to all of its parts. */
export interface Timing {
  readonly clock: Clock;
  readonly limits: Limits;
}
