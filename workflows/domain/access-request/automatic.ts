/** What an automatic resolver may answer. Only the first is an approval; the last leaves the stage to its people. */
export const AUTOMATIC_VERDICTS = ['approve', 'deny', 'abstain'] as const;

/** What a resolver answered, once for each stage. `failed`: nothing that could be understood, or nothing in time. */
export interface ResolverAnswer {
  /** Counted from 1. */
  readonly stage: number;
  readonly resolver: string;
  readonly verdict: (typeof AUTOMATIC_VERDICTS)[number] | 'failed';
  readonly reason?: string;
  readonly at: string;
}

/** Of no token and no sign-in: nobody who has one can speak as a resolver. */
const ISSUER = 'urn:countersign:resolvers';
const PREFIX = 'automatic:';

/** The one voter that the configured resolver of this name is, whichever stage asks it. */
export const automaticVoter = (resolver: string) => ({
  issuer: ISSUER,
  subject: `${PREFIX}${resolver}`,
  roles: [] as readonly string[],
});

/** Whether it is the voter of a resolver; undefined for somebody who only bears such a name, who may decide nothing. */
export function isAutomatic({
  issuer,
  subject,
}: {
  readonly issuer: string;
  readonly subject: string;
}): boolean | undefined {
  return (issuer === ISSUER) === subject.startsWith(PREFIX) ? issuer === ISSUER : undefined;
}
