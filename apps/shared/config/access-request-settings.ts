import { isIP } from 'node:net';
import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/evaluation.ts';
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
    token: secret.describe('Bearer token of the client. Make it from at least 32 random bytes.'),
    actsFor: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Name of the client whose tasks this client works with. Without it, the client works with its own tasks.',
      ),
    rights: z
      .array(z.enum(CLIENT_RIGHTS))
      .min(1)
      .describe(
        'What the client may do. `submit` opens requests, `status` reads their status, and `result` reads the approval that ' +
          'enforces one. `cancel` gives a request up, and `resolution` reads who resolved it and why. No right includes another.',
      ),
    subjects: z
      .array(pattern)
      .optional()
      .describe(
        'Ids of the subjects that the client may ask for. A `*` at the end matches a prefix. Without it, all subjects.',
      ),
    actions: z
      .array(pattern)
      .optional()
      .describe(
        'Ids of the actions that the client may ask for. A `*` at the end matches a prefix. Without it, all actions.',
      ),
    resources: z
      .array(pattern)
      .optional()
      .describe(
        'Ids of the resources that the client may ask for. A `*` at the end matches a prefix. Without it, all resources.',
      ),
    issuers: z
      .array(z.url())
      .default([])
      .describe(
        'Issuers whose identities the client verifies. Every actor in a chain that the client names must come from one of them.',
      ),
    callbacks: z
      .array(z.url().refine(isTrustworthy, 'a callback goes by https, or by http to this machine alone'))
      .default([])
      .describe('Addresses that the service may call when a request ends. They are compared character by character.'),
    callbackSecret: secret
      .optional()
      .describe(
        'Standard Webhooks secret (`whsec_…`) that signs the callbacks of this client. Required with `callbacks`.',
      ),
    callbackNetworks: z
      .array(network)
      .default([])
      .describe(
        'Private networks that callbacks of this client may reach. Without it, callbacks reach public addresses only.',
      ),
  })
  .refine(({ callbacks, callbackSecret }) => callbacks.length === 0 || callbackSecret !== undefined, {
    path: ['callbackSecret'],
    message: 'callbacks have to be signed: give the secret for it',
  });

/** A public key as a JWK. Strict, so that no private half gets into what is published. */
const verificationKey = z.strictObject({
  kty: z.enum(['EC', 'OKP']).describe('Key type of the JWK.'),
  crv: z.enum(['P-256', 'Ed25519']).describe('Curve of the key.'),
  x: z.string().min(1).describe('First coordinate of the public key, in base64url.'),
  y: z
    .string()
    .min(1)
    .optional()
    .describe('Second coordinate of the public key, in base64url. Only for the curve P-256.'),
  kid: z.string().min(1).describe('Id of the key, as signatures name it.'),
  use: z.literal('sig').optional().describe('Use of the key. Only signatures are possible.'),
  alg: z.enum(['ES256', 'EdDSA']).optional().describe('Algorithm of the signatures.'),
});

export const publishedKeys = z
  .array(verificationKey)
  .default([])
  .describe(
    'Public keys (JWK) to publish beside the key that signs. Publish the next key before it signs, and the former key until ' +
      'everything that it signed has expired.',
  );

/** What the access request service does for enforcement points, beside who decides. */
export const accessRequestSettings = {
  clients: z
    .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'letters, digits, dot, dash and underscore'), client)
    .refine(
      (clients) => !Object.hasOwn(clients, PEP_CLIENT_ID),
      `${PEP_CLIENT_ID} is our own gateway: take another name`,
    )
    .default({})
    .describe(
      'Clients of the access request service beside the gateway, for example other enforcement points. The key is the name ' +
        'that binding tokens have for the client.',
    ),
  maxRequestsPerSecond: z
    .number()
    .int()
    .positive()
    .default(500)
    .describe('Requests per second that one process accepts from one client. The service refuses further requests.'),
  retentionSeconds: seconds
    .min(86_400)
    .default(30 * 86_400)
    .describe(
      'How long an access request stays readable after its end, in seconds. After this time the service answers that it has ' +
        'expired. The service deletes it one day later.',
    ),
  publishedKeys,
  bulk: z
    .strictObject({
      maxItems: z.number().int().min(2).max(50).default(20).describe('Highest number of items in one request.'),
    })
    .optional()
    .describe(
      'Lets clients ask for several things in one request. Approvers decide each item separately. Without it, a request has ' +
        'exactly one item.',
    ),
};
