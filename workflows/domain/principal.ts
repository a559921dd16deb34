/** Who asks or decides, as a verified token says. */
export interface Principal {
  readonly issuer: string;
  readonly subject: string;
  /** OAuth client through which the subject acts: the agent. Absent when the token names none. */
  readonly clientId?: string;
}

/** Text that is equal exactly for equal principals: gated calls belong to it, and no other caller sees them. */
export function ownerKey(principal: Principal): string {
  return JSON.stringify([principal.issuer, principal.subject, principal.clientId ?? null]);
}

/** Whether two principals are the same person, whichever client they came through. */
export function isSamePerson(a: Principal, b: Principal): boolean {
  return a.issuer === b.issuer && a.subject === b.subject;
}
