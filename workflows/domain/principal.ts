/** Who asks or decides, as a verified token says. */
export interface Principal {
  readonly issuer: string;
  readonly subject: string;
  /** OAuth client through which the subject acts: the agent. Absent when the token names none. */
  readonly clientId?: string;
  /** The `act` chain of the token: who acts for the subject now, then those who did before. @see RFC 8693, section 4.1 */
  readonly actors?: readonly Actor[];
  /** Other names of the subject or its client in the token. They only keep a person from deciding, and give no right. */
  readonly aliases?: readonly string[];
  /** Those of the aliases that are names of the client. They make no two people one: people share programs. */
  readonly clientAliases?: readonly string[];
}

export interface Actor {
  readonly subject: string;
  /** Absent: the issuer of the token. */
  readonly issuer?: string;
  readonly clientId?: string;
}

/** The owner of a gated call: a subject, or a subject as far as it acts through one client. */
export const TASK_OWNERS = ['subject', 'subject-and-client'] as const;
export type TaskOwner = (typeof TASK_OWNERS)[number];

/**
 * Text that is equal exactly for equal owners: gated calls belong to it, and no other caller sees them. The `act` chain is always
 * part of it: an actor with another chain is another caller.
 */
export function ownerKey(principal: Principal, owner: TaskOwner = 'subject-and-client'): string {
  const { issuer, subject, clientId, actors = [] } = principal;
  const chain = actors.map((one) => [one.issuer ?? issuer, one.subject, one.clientId ?? null]);
  const client = owner === 'subject' ? [] : [clientId ?? null];
  return JSON.stringify([issuer, subject, ...client, ...(chain.length > 0 ? [chain] : [])]);
}

/** Text that is equal exactly for the same subject of the same issuer, through any client: quotas belong to it. */
export function subjectKey({ issuer, subject }: Principal): string {
  return JSON.stringify([issuer, subject]);
}
