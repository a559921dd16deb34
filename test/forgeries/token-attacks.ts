import { createHmac, createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import {
  b64,
  claimsOf,
  json64,
  partsOf,
  sealed,
  secretsFrom,
  signedByAttacker,
  signedByOwner,
  type Claims,
  type Target,
} from './attacker.ts';

/** Turns a genuine token into one that no service may take for genuine; the result need not be text. */
export type TokenAttack = (of: Target) => unknown;

const KIDS: readonly unknown[] = [
  '',
  'own-ES256',
  '../../../../dev/null',
  '/proc/sys/kernel/randomize_va_space',
  "x' UNION SELECT 'key",
  '__proto__',
  'constructor',
  '*',
  'x'.repeat(10_000),
  null,
  0,
  [],
  {},
];
const NONE = ['none', 'None', 'NONE', 'nOnE', '', ' ', 'null'];
const SECONDS_BACK = [31, 60, 3_600, 86_400 * 365];
/** One of these values under a name; undefined leaves it out. */
const oneAs = ({ chance }: Target, name: string, values: readonly unknown[]): Claims => ({
  [name]: values[chance.below(values.length)],
});
const now = () => Math.floor(Date.now() / 1_000);
const headerOf = (token: string): Claims => decodeProtectedHeader(token);

/** Claims that an attacker would want. */
function wanted({ token, chance, attacker }: Target): Claims {
  const claims = claimsOf(token);
  return chance.oneOf<Claims>([
    { exp: now() + 86_400 * 365 },
    { template: 'another_approval' },
    { requester: 'another-gateway' },
    { scope: 'any' },
    { binding_context_members: [] },
    { binding_hash: b64(randomBytes(32)) },
    { iss: attacker.jwksUrl },
    { aud: [claims['aud'], attacker.jwksUrl] },
    { jti: randomUUID() },
    { approval_id: `apr_${b64(randomBytes(16))}` },
    { evaluation_id: `eval_${randomUUID()}` },
    { denial_expires_at: new Date(Date.now() + 86_400_000).toISOString() },
    { subject: { type: 'identity', id: 'root' } },
    { context: {} },
  ]);
}

const changed: Readonly<Record<string, TokenAttack>> = {
  'a bit flipped'({ token, chance }) {
    const parts: string[] = partsOf(token);
    const which = chance.below(3);
    const bytes = Buffer.from(parts[which] ?? '', 'base64url');
    const at = chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8));
    parts[which] = b64(bytes);
    return parts.join('.');
  },
  'cut off': ({ token, chance }) => token.slice(0, chance.below(token.length - 2)),
  'something cut out'({ token, chance }) {
    const from = chance.below(token.length - 20);
    return token.slice(0, from) + token.slice(from + 1 + chance.below(18));
  },
  'other claims under its signature'(of) {
    const [header, , signature] = partsOf(of.token);
    return `${header}.${json64({ ...claimsOf(of.token), ...wanted(of) })}.${signature}`;
  },
  'another header over its signature'(of) {
    const [, payload, signature] = partsOf(of.token);
    const more = of.chance.oneOf<Claims>([{ typ: 'at+jwt' }, { cty: 'JWT' }, { kid: of.chance.oneOf(KIDS) }, { x: 1 }]);
    return `${json64({ ...headerOf(of.token), ...more })}.${payload}.${signature}`;
  },
  'the claims of another'({ token, another }) {
    const [header, , signature] = partsOf(token);
    return `${header}.${partsOf(another)[1]}.${signature}`;
  },
  'the signature of another': ({ token, another }) => [...partsOf(token).slice(0, 2), partsOf(another)[2]].join('.'),
  'no signature': ({ token }) => `${partsOf(token).slice(0, 2).join('.')}.`,
  'a signature that fits anything'({ token, chance }) {
    const made = [Buffer.alloc(64), Buffer.alloc(64, 0xff), Buffer.from('3006020100020100', 'hex'), Buffer.alloc(1)];
    return [...partsOf(token).slice(0, 2), b64(chance.oneOf(made))].join('.');
  },
  'a signature that is longer'({ token }) {
    const [header, payload, signature] = partsOf(token);
    return `${header}.${payload}.${b64(Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(1)]))}`;
  },
};

const algorithms: Readonly<Record<string, TokenAttack>> = {
  'no algorithm'(of) {
    const header = json64({ ...headerOf(of.token), alg: of.chance.oneOf(NONE) });
    const payload = json64({ ...claimsOf(of.token), ...wanted(of) });
    return `${header}.${payload}.${of.chance.oneOf(['', partsOf(of.token)[2], 'AA'])}`;
  },
  'no algorithm, claims as they are'({ token, chance }) {
    return `${json64({ ...headerOf(token), alg: chance.oneOf(NONE) })}.${partsOf(token)[1]}.`;
  },
  'the public key as a shared secret'(of) {
    const size = of.chance.oneOf([256, 384, 512]);
    const text = `${json64({ ...headerOf(of.token), alg: `HS${size}` })}.${json64({ ...claimsOf(of.token), ...wanted(of) })}`;
    const secret = of.chance.oneOf(secretsFrom(of.signingKey));
    return `${text}.${createHmac(`sha${size}`, secret).update(text).digest('base64url')}`;
  },
  'another algorithm, with a key of the attacker': (of) =>
    signedByAttacker(of, {}, { alg: of.chance.oneOf(of.attacker.algorithms) }),
  'another algorithm named than was signed with'(of) {
    const [, payload, signature] = partsOf(of.token);
    return `${json64({ ...headerOf(of.token), alg: of.chance.oneOf(['ES384', 'RS256', 'EdDSA', 'ES256K', 'es256']) })}.${payload}.${signature}`;
  },
};

const keys: Readonly<Record<string, TokenAttack>> = {
  'signed anew by the attacker': (of) => signedByAttacker(of, {}),
  'signed anew by the attacker, other claims': (of) => signedByAttacker(of, wanted(of)),
  'the attacker’s key in the header': (of) =>
    signedByAttacker(of, {}, { jwk: of.attacker.keys.ES256.jwk, ...of.chance.oneOf([{}, { kid: 'own-ES256' }]) }),
  'the attacker’s keys at an address in the header': (of) =>
    signedByAttacker(of, wanted(of), {
      ...of.chance.oneOf([{ jku: of.attacker.jwksUrl }, { x5u: of.attacker.jwksUrl }]),
      kid: 'own-ES256',
    }),
  'the attacker’s certificate in the header'(of) {
    const { kty, crv, x, y } = of.attacker.keys.ES256.jwk;
    const der = createPublicKey({ key: { kty, crv, x, y } as never, format: 'jwk' }).export({
      type: 'spki',
      format: 'der',
    });
    return signedByAttacker(of, {}, { x5c: [der.toString('base64')] });
  },
  'the attacker’s key under an odd id': (of) => {
    const header = JSON.stringify({ ...headerOf(of.token), kid: of.chance.oneOf(KIDS) });
    return sealed(header, JSON.stringify(claimsOf(of.token)));
  },
  'the attacker as the issuer': (of) => signedByAttacker(of, { iss: of.attacker.jwksUrl }, { kid: 'own-ES256' }),
  'issuers that are no issuers': (of) =>
    signedByAttacker(of, oneAs(of, 'iss', [undefined, null, '', [claimsOf(of.token)['iss']], {}, 0])),
};

/** Signed by a party that may sign such tokens, but for another place, another time or another purpose. */
const misused: Readonly<Record<string, TokenAttack>> = {
  'the other kind of token': ({ otherKind }) => otherKind,
  'for another audience'(of) {
    const { aud } = claimsOf(of.token);
    return signedByOwner(of, oneAs(of, 'aud', [undefined, '', [], of.attacker.jwksUrl, `${String(aud)}/`, [1]]));
  },
  'by another issuer'(of) {
    const { iss, aud } = claimsOf(of.token);
    return signedByOwner(of, oneAs(of, 'iss', [undefined, '', aud, `${String(iss)}/`]));
  },
  'that is over': (of) => {
    const exp = now() - of.chance.oneOf(SECONDS_BACK);
    return signedByOwner(of, { exp, iat: exp - 600 });
  },
  'that never ends': (of) => signedByOwner(of, oneAs(of, 'exp', [undefined, null, '', 'never', {}])),
  'that is not valid yet': (of) => signedByOwner(of, { nbf: now() + 3_600 }),
  'with a header that has to be understood': (of) =>
    signedByOwner(of, {}, { crit: ['https://elsewhere.test/x'], 'https://elsewhere.test/x': 1 }),
  'under another key id': (of) => signedByOwner(of, {}, { kid: `another-${of.chance.below(1_000)}` }),
  'that binds something else': (of) =>
    signedByOwner(of, oneAs(of, 'binding_hash', [b64(randomBytes(32)), '', partsOf(of.token)[2], 7])),
};

const shapes: Readonly<Record<string, TokenAttack>> = {
  'members twice in its claims'(of) {
    const mine = JSON.stringify(wanted(of)).slice(1, -1);
    const theirs = JSON.stringify(claimsOf(of.token)).slice(1, -1);
    const payload = of.chance.oneOf([`{${mine},${theirs}}`, `{${theirs},${mine}}`]);
    const [header, , signature] = partsOf(of.token);
    const raw = Buffer.from(header, 'base64url').toString();
    return of.chance.happens(0.5) ? sealed(raw, payload) : `${header}.${b64(payload)}.${signature}`;
  },
  'members twice in its header'({ token, chance }) {
    const [header, payload, signature] = partsOf(token);
    const theirs = Buffer.from(header, 'base64url').toString().slice(1, -1);
    const both = chance.oneOf([`{"alg":"none",${theirs}}`, `{${theirs},"alg":"none"}`, `{${theirs},"alg":"HS256"}`]);
    return `${b64(both)}.${payload}.${chance.oneOf(['', signature])}`;
  },
  'another number of parts': ({ token, chance }) =>
    chance.oneOf([
      `${token}.`,
      `.${token}`,
      `${token}.AA`,
      `${token}.${token}`,
      token.replace('.', '..'),
      token.replace('.', ''),
    ]),
  'another form of signature'({ token }) {
    const [header, payload, signature] = partsOf(token);
    return { payload, protected: header, signature, signatures: [{ protected: header, signature }] };
  },
  'a list of tokens': ({ token, another }) => [token, another],
  'something around it': ({ token, chance }) =>
    chance.oneOf([`Bearer ${token}`, ` ${token}\n`, `"${token}"`, `${token}\u0000`, `${token}=`]),
  'no text': ({ chance }) => chance.oneOf<unknown>([null, true, 1, {}, [], '', '.', '..', { verified: true }]),
  'text that only looks like one': ({ chance }) =>
    [10 + chance.below(40), 10 + chance.below(400), 64].map((size) => b64(randomBytes(size))).join('.'),
};

export const TOKEN_ATTACKS: Readonly<Record<string, TokenAttack>> = {
  ...changed,
  ...algorithms,
  ...keys,
  ...misused,
  ...shapes,
};
