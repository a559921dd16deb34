import { requestPersonToken } from '../shared/auth/person-token.ts';
import type { Config, Person } from '../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../shared/config/development-secrets.ts';
import { requireStack } from './context.ts';
import type { Io } from './io.ts';
import { CliError, EXIT } from './output.ts';

export const AUDIENCES = ['mcp', 'approvals', 'audit'] as const;
/** The service a token is for. */
export type Audience = (typeof AUDIENCES)[number];

export interface SignedIn {
  readonly token: string;
  /** Addresses of the services: of the running stack, or as configured. */
  readonly urls: Config['urls'];
}

interface As {
  readonly audience: Audience;
  readonly name?: string | undefined;
  /** Separated by blanks. Default: all that the service knows. */
  readonly scope?: string | undefined;
  /** What the person must be; without a name it is the first who has this role. */
  readonly role?: Person['roles'][number];
}

/**
 * Signs in to a service: with `COUNTERSIGN_TOKEN` at the configured addresses, else as a person of the running
 * development stack. Throws a line that says what is missing.
 */
export async function signIn(io: Io, config: Config, as: As): Promise<SignedIn> {
  const given = io.environment.variables['COUNTERSIGN_TOKEN'];
  if (given !== undefined && as.name === undefined) return { token: given, urls: config.urls };
  const { people, issuer } = config.identity;
  if (issuer !== undefined) {
    throw new CliError(`tokens come from ${issuer}; get one there and put it into COUNTERSIGN_TOKEN`);
  }
  const { name } = findPerson(people, as);
  const { urls } = await requireStack(config);
  const secrets = await loadDevelopmentSecrets(config.stateDir);
  const { accessToken } = await requestPersonToken({ ...config, urls }, secrets, { ...as, name });
  return { token: accessToken, urls };
}

function findPerson(people: readonly Person[], { name, role }: As): Person {
  const found = people.find((one) =>
    name === undefined ? role !== undefined && one.roles.includes(role) : one.name === name,
  );
  const known = people.map((one) => `${one.name} (${one.roles.join(', ')})`).join(', ');
  if (found === undefined) {
    if (name === undefined)
      throw new CliError(`nobody has the role ${role ?? ''}; there are ${known}. Name one with --as`);
    throw new CliError(`there is nobody called ${name}; there are ${known}`, { exitCode: EXIT.usage });
  }
  if (role === undefined || found.roles.includes(role)) return found;
  throw new CliError(`${found.name} does not have the role ${role}; there are ${known}`, { exitCode: EXIT.usage });
}
