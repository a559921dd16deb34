import { renameSync } from 'node:fs';
import type { Logger } from 'pino';
import * as z from 'zod';
import { jsonIn } from '../../../../workflows/domain/canonical-json.ts';
import { NotPrivate, readPrivately, writePrivately } from '../../private-file.ts';

/** What the provider stores of a client, a grant or a token. */
const payload = z.looseObject({});
/** Milliseconds since 1970. */
const instant = z.number().int();

const agreement = z.strictObject({
  clientId: z.string(),
  clientName: z.string(),
  redirectUri: z.string(),
  resource: z.string(),
  scopes: z.array(z.string()),
});

const registration = z.strictObject({ metadata: payload, registeredAt: instant, usedAt: instant.optional() });

const grant = z.strictObject({
  payload: z.looseObject({ clientId: z.string(), exp: z.number() }),
  /** Absent until the person's answer is complete. Such a grant gives no token. */
  agreement: agreement.optional(),
});

const refreshToken = z.looseObject({ grantId: z.string(), exp: z.number(), iat: z.number() });

export const contentSchema = z.strictObject({
  version: z.literal(1),
  /** Hosts that have registered themselves, by client id. */
  clients: z.record(z.string(), registration),
  grants: z.record(z.string(), grant),
  /** By SHA-256 of the token, so that the file alone signs no program in. */
  refreshTokens: z.record(z.string(), refreshToken),
  /** The last readable document of each host with a grant, by its address. */
  documents: z.record(z.string(), z.strictObject({ text: z.string(), fetchedAt: instant })),
});

export type HostContent = z.infer<typeof contentSchema>;

const empty = (): HostContent => ({ version: 1, clients: {}, grants: {}, refreshTokens: {}, documents: {} });

/**
 * Reads what the issuer keeps of hosts. A file that is damaged or not private is set aside, because hosts can sign in again, and
 * another user must not decide who is signed in.
 */
export function readHosts(file: string, log: Logger): HostContent {
  const found = textOf(file);
  if (found === undefined) return empty();
  const content = contentSchema.safeParse(typeof found === 'string' ? jsonIn(found) : undefined);
  if (content.success) return content.data;
  const aside = `${file}.damaged`;
  renameSync(file, aside);
  const reason = found instanceof NotPrivate ? found.message : 'is damaged';
  log.warn(
    { event: 'hosts_forgotten', file: aside, reason },
    'the file of signed-in hosts is set aside: hosts have to sign in again',
  );
  return empty();
}

function textOf(file: string): string | NotPrivate | undefined {
  try {
    return readPrivately(file);
  } catch (error) {
    if (error instanceof NotPrivate) return error;
    throw error;
  }
}

/** Returns when the file is written: a token that is answered is one that survives a crash of this process. */
export const writeHosts = (file: string, content: HostContent): void =>
  writePrivately(file, `${JSON.stringify(content, null, 1)}\n`);
