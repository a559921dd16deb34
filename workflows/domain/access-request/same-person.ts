/**
 * A name in the form in which names of people are compared. Upper and lower case, blanks, and the ways to write one text in Unicode make
 * no difference, nor do characters that are invisible: no person gets a second voice by another spelling. OpenID Connect has `sub`
 * case-sensitive, so this form gives no right. It only keeps people from deciding, and there it is the safe side.
 * @see OpenID Connect Core 1.0, section 2; Unicode Standard Annex 15
 */
export function nameKey(name: string): string {
  // Upper case first: some letters have one upper case and several lower cases.
  const folded = name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
  const key = folded
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return key === '' ? name : key;
}

/** Names in the form in which they are compared, each once. */
export const keysOf = (names: readonly (string | undefined)[]): string[] => [
  ...new Set(names.flatMap((one) => (one === undefined ? [] : [nameKey(one)]))),
];

/**
 * Whether two sets of names are those of one person: they have a name in common. This is the one rule for "the same person", in every
 * place where a person counts once or must be another than a person before: votes, parties, hand-overs, stand-ins, stages, grants and
 * questions. `&&` between two columns of such names is the same rule in the database. Issuers play no part: an issuer that is spelled in
 * another way must give no person a second voice. Where a name gives a right, it is compared exactly, and with its issuer.
 */
export const isOnePerson = (some: readonly string[], others: readonly string[]): boolean => {
  const keys = new Set(keysOf(some));
  return keysOf(others).some((one) => keys.has(one));
};

/** Those who have a voice in a vote. */
export interface Voices {
  readonly subject: string;
  /** Other names of the same person, and of the person who speaks for them. */
  readonly aliases?: readonly string[] | undefined;
  /** Who speaks in their place. */
  readonly castBy?: string | undefined;
  /** Subjects that act for the voter by the token. */
  readonly actors?: readonly string[] | undefined;
}

/** All names of those who have a voice in a vote: together they have one. */
export const voiceNames = ({ subject, aliases = [], castBy = subject, actors = [] }: Voices): string[] => [
  subject,
  ...aliases,
  castBy,
  ...actors,
];
