import { CountersignError } from '../../../workflows/domain/errors.ts';
import { secretsSchema, type Secrets } from './secrets.ts';

export const SECRET_NAMES = secretsSchema.keyof().options;

const NO_PRIVATE_KEY = 'no private key in JWK form with a kid';
const NO_SEALING_KEYS =
  'no list of symmetric keys in JWK form, each with a kid of its own and 32 bytes in k (base64url)';
/** What is wrong with one that cannot be used. */
const RULES: { readonly [Name in keyof Secrets]?: string } = {
  pdpSigningKey: NO_PRIVATE_KEY,
  accessRequestSigningKey: NO_PRIVATE_KEY,
  sealingKeys: NO_SEALING_KEYS,
  recordSealingKeys: NO_SEALING_KEYS,
};

/** `pdpSigningKey` → `COUNTERSIGN_PDP_SIGNING_KEY` */
export function secretVariable(name: keyof Secrets): string {
  return `COUNTERSIGN_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * The named secrets, each from its environment variable; keys are given as JWK. A deployable asks for its own alone.
 * Throws `ERR_CONFIG_INVALID` with every variable that is missing or unusable, and no value.
 */
export function secretsFromEnvironment<Name extends keyof Secrets>(
  variables: Readonly<Record<string, string>>,
  names: readonly Name[],
): Pick<Secrets, Name> {
  const given = names.map((name) => [name, read(variables[secretVariable(name)])] as const);
  const present = given.filter(([, value]) => value !== undefined);
  const parsed = secretsSchema.partial().safeParse(Object.fromEntries(present));
  if (parsed.success && holdsAll(parsed.data, names)) return parsed.data;
  const unusable = new Set(parsed.error?.issues.map((issue) => issue.path[0]));
  const lines = names.flatMap((name) => {
    const variable = secretVariable(name);
    if (variables[variable] === undefined) return [`${variable} is not set`];
    if (!unusable.has(name)) return [];
    return [`${variable} is ${RULES[name] ?? 'too short: at least 16 characters'}`];
  });
  throw new CountersignError('ERR_CONFIG_INVALID', lines.join('\n'));
}

function holdsAll<Name extends keyof Secrets>(
  secrets: { [Each in keyof Secrets]?: Secrets[Each] | undefined },
  names: readonly Name[],
): secrets is Pick<Secrets, Name> {
  return names.every((name) => secrets[name] !== undefined);
}

/** Keys are JSON objects; everything else is taken as it is written. */
function read(value: string | undefined): unknown {
  if (value === undefined || !/^[{[]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
