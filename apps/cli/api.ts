import * as z from 'zod';
import { jsonIn } from '../../workflows/domain/canonical-json.ts';
import { requestPersonToken } from '../shared/auth/client-credentials.ts';
import { systemClock } from '../shared/clock.ts';
import type { Config, Person } from '../shared/config/config.ts';
import { loadDevelopmentSecrets } from '../shared/config/development-secrets.ts';
import { limitsOf } from '../shared/limits.ts';
import { CliError, EXIT, type Io, requireStack } from './context.ts';
import { OWN_COMMAND } from './own-command.ts';

export const AUDIENCES = ['mcp', 'approvals', 'audit'] as const;
/** The service that accepts the token. */
export type Audience = (typeof AUDIENCES)[number];

interface As {
  readonly audience: Audience;
  readonly name?: string | undefined;
  /** Separated by blanks. Default: all scopes that the service knows. */
  readonly scope?: string | undefined;
  /** Role that the person must have. Without a name, the first person with this role signs in. */
  readonly role?: string;
}

/**
 * Signs in to a service: with `COUNTERSIGN_TOKEN` at the configured addresses, else as a person of the running development stack.
 * Returns the addresses with the token. Throws an error of one line if it cannot.
 */
export async function signIn(io: Io, config: Config, as: As): Promise<{ token: string; urls: Config['urls'] }> {
  const given = io.environment.variables['COUNTERSIGN_TOKEN'];
  if (given !== undefined && as.name === undefined) return { token: given, urls: config.urls };
  const { people, issuer } = config.identity;
  if (issuer !== undefined) {
    throw new CliError(`tokens come from ${issuer}; get one there and set COUNTERSIGN_TOKEN to it`);
  }
  const { name } = findPerson(people, as);
  const { urls } = await requireStack(config);
  const secrets = await loadDevelopmentSecrets(config.stateDir);
  const { accessToken } = await requestPersonToken({ ...config, urls }, secrets, { ...as, name });
  return { token: accessToken, urls };
}

export function findPerson(people: readonly Person[], { name, role }: Pick<As, 'name' | 'role'>): Person {
  const found = people.find((one) =>
    name === undefined ? role !== undefined && one.roles.includes(role) : one.name === name,
  );
  const known = people.map((one) => `${one.name} (${one.roles.join(', ')})`).join(', ');
  if (found === undefined && name === undefined)
    throw new CliError(`no person has the role ${role ?? ''}; configured are ${known}. Add one to identity.people`);
  if (found === undefined || (role !== undefined && !found.roles.includes(role))) {
    const fault =
      found === undefined ? `no person is called ${name ?? ''}` : `${found.name} does not have the role ${role ?? ''}`;
    throw new CliError(`${fault}; configured are ${known}`, { exitCode: EXIT.usage });
  }
  return found;
}

/** One of the services, called with the token of one person. */
export interface Api {
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
}

/**
 * The API of the inbox or the audit service, for a person who signs in as `signIn` does. A missing, refusing or unexpected answer becomes
 * an error of one line.
 */
export async function openApi(io: Io, config: Config, as: As & { readonly audience: 'approvals' | 'audit' }) {
  const { token, urls } = await signIn(io, config, as);
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const json = { ...headers, 'content-type': 'application/json' };
  const call = async <T>(path: string, schema: z.ZodType<T>, init: RequestInit): Promise<T> => {
    const url = new URL(urls[as.audience] + path);
    const signal = systemClock.signalAfter(limitsOf(config).commandMs);
    const answer = schema.safeParse(await send(url, { ...init, signal }));
    if (answer.success) return answer.data;
    const message = `${url.origin} sent an unexpected answer; use the countersign command of the same version`;
    throw new CliError(message, { cause: answer.error });
  };
  const api: Api = {
    get: (path, schema) => call(path, schema, { headers }),
    post: (path, body, schema) => call(path, schema, { method: 'POST', headers: json, body: JSON.stringify(body) }),
  };
  return { api, urls };
}

const problemSchema = z.looseObject({ title: z.string().optional(), detail: z.string().optional() });

async function send(url: URL, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
    throw new CliError(`nothing answers at ${url.origin}; start everything with \`${OWN_COMMAND} up\``, { cause });
  });
  const body = jsonIn(await response.text());
  if (response.ok) return body;
  const { title, detail } = problemSchema.safeParse(body).data ?? {};
  const reason = [title, detail].filter(Boolean).join(': ');
  throw new CliError(`${reason === '' ? `${url.origin} refused the request` : reason} (${response.status})`);
}
