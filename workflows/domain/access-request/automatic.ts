/** The answers of an automatic resolver. Only the first is an approval; the last leaves the stage to its people. */
export const AUTOMATIC_VERDICTS = ['approve', 'deny', 'abstain'] as const;

/** A resolver's answer, one for each stage. `failed`: it could not be understood, or did not come in time. */
export interface ResolverAnswer {
  /** Counted from 1. */
  readonly stage: number;
  readonly resolver: string;
  readonly verdict: (typeof AUTOMATIC_VERDICTS)[number] | 'failed';
  readonly reason?: string;
  readonly at: string;
}

/** No token and no sign-in has this issuer, so no person or client can vote as a resolver. */
const ISSUER = 'urn:countersign:resolvers';
const PREFIX = 'automatic:';

/** The configured resolver of this name as a voter, the same in every stage. */
export const automaticVoter = (resolver: string) => ({
  issuer: ISSUER,
  subject: `${PREFIX}${resolver}`,
  roles: [] as readonly string[],
});

/** Whether it is the voter of a resolver; undefined for a person who only bears such a name, and who may decide nothing. */
export function isAutomatic({
  issuer,
  subject,
}: {
  readonly issuer: string;
  readonly subject: string;
}): boolean | undefined {
  return (issuer === ISSUER) === subject.startsWith(PREFIX) ? issuer === ISSUER : undefined;
}
