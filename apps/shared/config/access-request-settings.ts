import { isIP } from 'node:net';
import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/pep.ts';
import { isTrustworthy, seconds, secret } from './units.ts';

/**
 * What a client of the access request service may do: open requests, read how they stand, read the approval that enforces
 * one, give one up, read who resolved one and why. None includes another (ARAP-ATH-04).
 */
export const CLIENT_RIGHTS = ['submit', 'status', 'result', 'cancel', 'resolution'] as const;
export type ClientRight = (typeof CLIENT_RIGHTS)[number];

/** An address range: `10.0.0.0/8`. */
export const network = z.string().refine((text) => {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}, 'a network is an address, a slash and the length of its prefix');

/** An id, or the beginning of ids with `*` after it. */
const pattern = z.string().min(1);

const client = z
  .strictObject({
    /** Bearer token, at least 32 random bytes. */
    token: secret,
    /** Whose tasks it has to do with. Default: its own, by its name here. */
    actsFor: z.string().min(1).optional(),
    rights: z.array(z.enum(CLIENT_RIGHTS)).min(1),
    /** Subjects, actions and resources, by their ids, that it may have to do with. Default: all. */
    subjects: z.array(pattern).optional(),
    actions: z.array(pattern).optional(),
    resources: z.array(pattern).optional(),
    /** Issuers whose identities it verifies: a chain of actors that it names has to be of these (ARAP-DLG-03). */
    issuers: z.array(z.url()).default([]),
    /** Addresses, to the letter, that may be told of an end. */
    callbacks: z
      .array(z.url().refine(isTrustworthy, 'a callback goes by https, or by http to this machine alone'))
      .default([]),
    /** Standard Webhooks secret (`whsec_…`) that its callbacks are signed with. */
    callbackSecret: secret.optional(),
    /** Networks that are not public and that its callbacks may go to all the same. */
    callbackNetworks: z.array(network).default([]),
  })
  .refine(({ callbacks, callbackSecret }) => callbacks.length === 0 || callbackSecret !== undefined, {
    path: ['callbackSecret'],
    message: 'callbacks have to be signed: give the secret for it',
  });

/** A public key as a JWK. Strict, so that no private half gets into what is published. */
const verificationKey = z.strictObject({
  kty: z.enum(['EC', 'OKP']),
  crv: z.enum(['P-256', 'Ed25519']),
  x: z.string().min(1),
  y: z.string().min(1).optional(),
  kid: z.string().min(1),
  use: z.literal('sig').optional(),
  alg: z.enum(['ES256', 'EdDSA']).optional(),
});

/**
 * Public keys in the key set beside the one that signs: the one before it until what it signed is over, and the one after
 * it before it is used.
 */
export const publishedKeys = z.array(verificationKey).default([]);

/** What the access request service does for enforcement points, beside who decides. */
export const accessRequestSettings = {
  /** Enforcement points and others beside our own gateway, by the name that binding tokens have for them. */
  clients: z
    .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'letters, digits, dot, dash and underscore'), client)
    .refine(
      (clients) => !Object.hasOwn(clients, PEP_CLIENT_ID),
      `${PEP_CLIENT_ID} is our own gateway: take another name`,
    )
    .default({}),
  /** Requests (submissions, looks, cancellations) that this process takes from one client in a second; more are refused. */
  maxRequestsPerSecond: z.number().int().positive().default(500),
  /** How long a request can be read after its end. After it the answer is that it has expired; a day later it is deleted. */
  retentionSeconds: seconds.min(86_400).default(30 * 86_400),
  publishedKeys,
  /** Requests of several items at once, each decided by itself, of at most so many. Without it each thing is asked for alone. */
  bulk: z.strictObject({ maxItems: z.number().int().min(2).max(50).default(20) }).optional(),
};
