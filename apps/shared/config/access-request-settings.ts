import * as z from 'zod';
import { PEP_CLIENT_ID } from '../../../workflows/domain/authzen/evaluation.ts';
import { count, listOf, network, plainName, seconds, secret, text, trustworthyUrl } from './units.ts';

/** Rights of a client of the access request service. No right includes another (ARAP-ATH-04). */
export const CLIENT_RIGHTS = ['submit', 'status', 'result', 'cancel', 'resolution'] as const;
export type ClientRight = (typeof CLIENT_RIGHTS)[number];

/** An id, or the beginning of ids with `*` after it. */
const pattern = text;

const client = z
  .strictObject({
    token: secret.describe('Bearer token of the client. Make it from at least 32 random bytes.'),
    actsFor: text
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
    issuers: listOf(z.url()).describe(
      'Issuers whose identities the client verifies. Every actor in a chain that the client names must come from one of them.',
    ),
    callbacks: listOf(trustworthyUrl).describe(
      'Addresses that the service may call when a request ends. They are compared character by character.',
    ),
    callbackSecret: secret
      .optional()
      .describe(
        'Standard Webhooks secret (`whsec_…`) that signs the callbacks of this client. Required with `callbacks`.',
      ),
    callbackNetworks: listOf(network).describe(
      'Private networks that callbacks of this client may reach. Without it, callbacks reach public addresses only.',
    ),
  })
  .refine(({ callbacks, callbackSecret }) => callbacks.length === 0 || callbackSecret !== undefined, {
    path: ['callbackSecret'],
    message: 'callbacks must be signed: give their secret',
  });

/** A public key as a JWK. Strict, so that no private part gets published. */
const verificationKey = z.strictObject({
  kty: z.enum(['EC', 'OKP']).describe('Key type of the JWK.'),
  crv: z.enum(['P-256', 'Ed25519']).describe('Curve of the key.'),
  x: text.describe('First coordinate of the public key, in base64url.'),
  y: text.optional().describe('Second coordinate of the public key, in base64url. Only for the curve P-256.'),
  kid: text.describe('Id of the key, as signatures name it.'),
  use: z.literal('sig').optional().describe('Use of the key. Only signatures are possible.'),
  alg: z.enum(['ES256', 'EdDSA']).optional().describe('Algorithm of the signatures.'),
});

export const publishedKeys = listOf(verificationKey).describe(
  'Public keys (JWK) to publish beside the key that signs. Publish the next key before it signs, and the former key until ' +
    'all its signatures have expired.',
);

/** Settings of the access request service for enforcement points. */
export const accessRequestSettings = {
  clients: z
    .record(plainName, client)
    .refine(
      (clients) => !Object.hasOwn(clients, PEP_CLIENT_ID),
      `${PEP_CLIENT_ID} is the name of the gateway: use another name`,
    )
    .default({})
    .describe(
      'Clients of the access request service beside the gateway, for example other enforcement points. The key is the name ' +
        'that binding tokens have for the client.',
    ),
  maxRequestsPerSecond: count
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
