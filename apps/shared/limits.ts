import type { Clock } from './clock.ts';

/**
 * How long something may take before the product goes on without it: each of these decides an outcome. All are in milliseconds, for
 * a machine and a network of ordinary speed, and all are multiplied by `timeLimitFactor` of the configuration.
 *
 * Four kinds of durations are no limits, and are never multiplied:
 * - settings of the configuration, which an operator chooses one by one;
 * - what callers, approvers and auditors are promised: deadlines of calls and requests, retention, lengths of sessions;
 * - what safety rests on: for how long a decision (5 seconds, in SQL), a list of revoked approvals, the keys of an issuer, a token or a
 *   signature count, how far clocks may be apart, and how exactly they are compared;
 * - pauses between two tries, which only decide how soon something happens.
 */
const DEFAULTS = {
  /** Connecting to the database, also waiting for one of the pool's connections. */
  databaseConnectMs: 5_000,
  /** One statement, carried out by the database. */
  databaseStatementMs: 5_000,
  /** Waiting for a lock within a statement. */
  databaseLockMs: 2_000,
  /** A transaction whose client says nothing; then the database ends the connection. */
  databaseIdleTransactionMs: 10_000,
  /** The answer to a statement. More than a statement may take: only a database that has vanished needs as long. */
  databaseAnswerMs: 7_000,
  /** Another migration that runs. */
  migrationLockMs: 120_000,
  /** Recording a new call while the database is away. Its caller waits; a repetition joins what was recorded. */
  callOpeningMs: 5_000,
  /** Recording the handle of a submitted request while the database is away. Its caller waits; a repetition finds it. */
  handleRecordingMs: 5_000,
  /** Another process that opens the same call. Afterwards its caller is told to repeat it. */
  joiningMs: 10_000,
  /**
   * The right of one process to submit an access request. More than `accessRequestServiceMs` and `handleRecordingMs` together, so
   * that a right that ran out means its holder died. If two submit all the same, the key of the request makes it one.
   */
  submissionLeaseMs: 30_000,
  /** The right of one process to handle an entry of an outbox. A handler has to end within it; if not, another handles it as well. */
  outboxLeaseMs: 60_000,
  /**
   * The right of one process to ask an automatic resolver. More than the longest `timeoutSeconds` of a resolver, a minute, and the three
   * statements around it together. If two ask all the same, the resolver gets the same question twice, and one answer counts.
   */
  questionLeaseMs: 120_000,

  /** One answer of the policy decision point. */
  pdpAnswerMs: 5_000,
  /** One answer of a decision point behind ours. Less than `pdpAnswerMs`, so that our own answer still comes. */
  foreignPdpAnswerMs: 4_000,
  /** The metadata of a decision point, and the keys that these are signed with. */
  pdpMetadataMs: 5_000,
  /** The keys of a decision point, for those who verify what it signed. */
  pdpKeysMs: 5_000,
  /** The keys of the access request service. The decision point reads them while it is asked, so less than `pdpAnswerMs`. */
  approvalKeysMs: 2_000,
  /** The list of revoked approvals. The decision point reads it while it is asked, so less than `pdpAnswerMs`; without it no approval counts. */
  revocationsMs: 2_000,
  /** The denial that an evaluation id names, as the decision point has it on record. */
  recordedDenialMs: 5_000,
  /** One answer of the access request service. */
  accessRequestServiceMs: 10_000,
  /** The statement of the access request service about a request that has ended. Without it the record says so. */
  resolutionStatementMs: 5_000,
  /** A schema of an access request, its list of catalogs, or a page of one. */
  requestDocumentMs: 5_000,
  /** All pages of one catalog together. */
  catalogMs: 10_000,
  /** All catalogs of one round of questions together, before the last one is begun. */
  catalogsOfRoundMs: 10_000,
  /**
   * A service that tells whether a requirement is met. Short, because a decision gets old meanwhile: the database refuses one of more
   * than five seconds however long this limit is, and the call is decided anew.
   */
  requirementMs: 2_000,
  /** A receiver of obligations. Short for the same reason. */
  obligationMs: 2_000,
  /** A receiver of callbacks and notifications. */
  webhookMs: 15_000,

  /** The identity provider's metadata and keys, for a token that is to be verified. */
  issuerMs: 5_000,
  /** The identity provider, for a person who signs in. A row of the database is locked meanwhile, so less than `databaseStatementMs`. */
  signInMs: 4_000,
  /** A token for a program of ours, from its issuer: metadata and grant, each. */
  tokenMs: 10_000,

  /** Connecting to an upstream. Long, because a package runner may have to download the server first. */
  upstreamConnectMs: 60_000,
  /** Finding out which revision of the protocol an upstream speaks. */
  upstreamProbeMs: 10_000,
  /** Whether a session that rested is still there. */
  upstreamPingMs: 2_000,
  /** All pages of a list of an upstream together. */
  upstreamListMs: 15_000,
  /** A call or a list, for an upstream that is still connecting or listing. Afterwards it goes on without that upstream. */
  upstreamWaitMs: 15_000,
  /** An upstream that is asked to say what changes. */
  upstreamListenMs: 10_000,
  /** An outcome probe. Without an answer the outcome stays unknown. */
  outcomeProbeMs: 5_000,
  /**
   * From the permit to send until the call is on its way. It keeps a process that stood still from sending late. A slow machine takes longer for the same steps, so it is multiplied; nothing is sent after the execution
   * deadline, nor twice, since the permit is one.
   */
  sendWindowMs: 2_000,

  /** One request to the engine. One that was carried out all the same does no harm. */
  engineMs: 5_000,

  /** One answer of a service to a command of the command line. */
  commandMs: 10_000,
  /** One answer to `doctor`, which tells that there was none. */
  examinationMs: 5_000,
  /** Whether the stack that is on record answers. Without an answer it counts as gone. */
  stackProbeMs: 2_000,

  /** What a probe asks of a process. */
  healthMs: 3_000,
  /** A mapping with expressions that depend on how much is in a message. The process serves nothing else meanwhile. */
  mappingMs: 250,
  /** A check by a schema that can take for ever. The process serves nothing else meanwhile. */
  schemaCheckMs: 250,

  /** A stop of a part that names no longer time itself. Then the process ends in the middle of its work. */
  stopMs: 5_000,
  /** Requests in flight when a server closes. Then their connections are cut. Less than `stopMs`. */
  serverCloseMs: 3_000,
} as const;

/** How long something may take, in milliseconds. See there for each. */
export type Limits = { readonly [name in keyof typeof DEFAULTS]: number };

/** The limits of a machine that is so many times slower than an ordinary one: a whole number of at least 1. */
export function limitsOf({ timeLimitFactor }: { readonly timeLimitFactor: number }): Limits {
  const entries = Object.entries(DEFAULTS).map(([name, ms]) => [name, ms * timeLimitFactor]);
  return Object.fromEntries(entries) as Limits;
}

/** What a process knows of time. Its `main.ts` gives both to everything in it. */
export interface Timing {
  readonly clock: Clock;
  readonly limits: Limits;
}
