import { createHash } from 'node:crypto';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import type { Logger } from 'pino';
import * as z from 'zod';
import {
  type ConfirmedVote,
  type PasskeyAssertion,
  voteChallenge,
} from '../../../workflows/domain/access-request/passkey.ts';
import { randomText, sha256 } from '../../shared/crypto.ts';
import type { NewVote } from '../stores/new-rows.ts';
import type { NewPasskey, Passkey, PasskeyStore } from '../stores/passkey.store.ts';
import type { RelyingParty } from './relying-party.ts';

/** Signatures that every verifier knows: Ed25519, ECDSA with P-256 and RSA (PKCS #1). @see IANA COSE Algorithms */
const ALGORITHMS = [-8, -7, -257];
const NONCE_BYTES = 32;
const MINUTE_MS = 60_000;
const REGISTRATION_MS = 5 * MINUTE_MS;
/** An approver reads the request between the draw of its page and the signature. */
const APPROVAL_MS = 60 * MINUTE_MS;
/** How long the browser may wait for the person. */
const CEREMONY_MS = 5 * MINUTE_MS;

const base64url = (longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/^[\w-]+$/);
/** They go on record, so their sizes are bounded. */
const authenticationSchema = z.object({
  id: base64url(1_400),
  response: z.object({
    authenticatorData: base64url(2_000),
    clientDataJSON: base64url(4_000),
    signature: base64url(2_000),
  }),
});
const registrationSchema = z.object({
  id: base64url(1_400),
  response: z.object({
    attestationObject: base64url(20_000),
    clientDataJSON: base64url(4_000),
    transports: z
      .array(z.string().regex(/^[a-z-]{1,20}$/))
      .max(10)
      .default([]),
  }),
});

type Options = PublicKeyCredentialRequestOptionsJSON;
export type RegistrationOptions = PublicKeyCredentialCreationOptionsJSON;

/** What the page of a request needs to have an approval confirmed. */
export interface PasskeyOffer {
  readonly nonce: string;
  /** For the browser, by the subject whose vote it is. Empty if the person has no passkey. */
  readonly options: ReadonlyMap<string, Options>;
}

type Signer = Pick<NewPasskey, 'issuer' | 'subject'> & { readonly name: string };

export type Passkeys = ReturnType<typeof createPasskeys>;

/** The two ceremonies of passkeys. What they prove is counted by the database, in the transaction of the vote. */
export function createPasskeys(deps: { store: PasskeyStore; party: RelyingParty | undefined; log: Logger }) {
  return { party: deps.party, store: deps.store, ...confirming(deps), ...registering(deps) };
}

type Deps = Parameters<typeof createPasskeys>[0];

const challengeOf = (vote: ConfirmedVote) => createHash('sha256').update(voteChallenge(vote, sha256), 'utf8').digest();

const usable = (passkeys: readonly Passkey[]) => passkeys.filter(({ revokedAt }) => revokedAt === undefined);
// A browser ignores transports that it does not know.
const described = ({ id, transports }: Passkey) => ({ id, transports: transports as ('usb' | 'internal')[] });

const credentialOf = <Response extends object>(id: string, response: Response) =>
  ({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }) as const;

const expectedBy = ({ id, origin }: RelyingParty) => ({
  expectedOrigin: origin,
  expectedRPID: id,
  requireUserVerification: true,
});

const refused = (log: Logger) => (err: unknown) => {
  log.warn({ err }, 'the answer of a passkey was refused');
  return undefined;
};

function confirming({ store, party, log }: Deps) {
  return {
    /** Gives out what the passkeys of this person sign to approve for each of the approvers, once within an hour. */
    async offer(vote: Omit<ConfirmedVote, 'nonce' | 'approver'>, approvers: readonly string[]): Promise<PasskeyOffer> {
      const nonce = randomText(NONCE_BYTES);
      const allowCredentials = usable(await store.ofPerson(vote.signer)).map(described);
      if (party === undefined || allowCredentials.length === 0) return { nonce, options: new Map() };
      const { signer: subject, request: accessRequestId } = vote;
      await store.issueChallenge({ nonce, subject, accessRequestId, ttlMs: APPROVAL_MS });
      const options = approvers.map(async (approver) => {
        const challenge = new Uint8Array(challengeOf({ ...vote, approver, nonce }));
        const common = {
          rpID: party.id,
          allowCredentials,
          userVerification: 'required',
          timeout: CEREMONY_MS,
        } as const;
        return [approver, await generateAuthenticationOptions({ ...common, challenge })] as const;
      });
      return { nonce, options: new Map(await Promise.all(options)) };
    },

    /**
     * Verifies the browser's answer, as JSON. The counter is compared by the database, because two answers may come at once.
     * `passkey_unknown`: the passkey is not one of this person's, or was removed.
     */
    async confirm(
      vote: ConfirmedVote,
      answer: string,
    ): Promise<NonNullable<NewVote['confirmed']> | 'passkey_invalid' | 'passkey_unknown'> {
      const parsed = authenticationSchema.safeParse(jsonOf(answer));
      if (party === undefined || !parsed.success) return 'passkey_invalid';
      const { id, response } = parsed.data;
      const passkey = await store.find(id);
      if (passkey?.subject !== vote.signer || passkey.revokedAt !== undefined) return 'passkey_unknown';
      const { publicKey } = passkey;
      const verified = await verifyAuthenticationResponse({
        ...{ response: credentialOf(id, response), expectedChallenge: challengeOf(vote).toString('base64url') },
        credential: { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
        ...expectedBy(party),
      }).catch(refused(log));
      if (verified?.verified !== true) return 'passkey_invalid';
      const signed = { challenge: voteChallenge(vote, sha256), nonce: vote.nonce };
      const assertion: PasskeyAssertion = { credentialId: id, publicKey, ...response, ...signed };
      return { assertion, counter: verified.authenticationInfo.newCounter };
    },
  };
}

function registering({ store, party, log }: Deps) {
  return {
    /** What the browser needs to make a passkey for this person, within five minutes. Undefined where browsers offer none. */
    async registration({ issuer, subject, name }: Signer): Promise<RegistrationOptions | undefined> {
      if (party === undefined) return undefined;
      const registered = usable(await store.ofPerson(subject));
      const nonce = randomText(NONCE_BYTES);
      await store.issueChallenge({ nonce, subject, ttlMs: REGISTRATION_MS });
      return generateRegistrationOptions({
        ...{ rpName: 'Countersign', rpID: party.id },
        // An authenticator keeps one passkey for each of these ids. It must not say who the person is.
        userID: new Uint8Array(createHash('sha256').update(`${issuer} ${subject}`, 'utf8').digest()),
        ...{ userName: subject, userDisplayName: name },
        challenge: new Uint8Array(Buffer.from(nonce, 'base64url')),
        timeout: CEREMONY_MS,
        attestationType: 'none',
        excludeCredentials: registered.map(described),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        supportedAlgorithmIDs: ALGORITHMS,
      });
    },

    /** Verifies the browser's answer, as JSON, and registers the passkey. `invalid`: it is no answer to a page of ours. */
    async register({ issuer, subject, name }: Signer, answer: string) {
      const parsed = registrationSchema.safeParse(jsonOf(answer));
      if (party === undefined || !parsed.success) return 'invalid';
      const { id, response } = parsed.data;
      let nonce = '';
      const verified = await verifyRegistrationResponse({
        response: credentialOf(id, { ...response, transports: [] }),
        // The database knows whether it was given out to this person.
        expectedChallenge: (challenge) => {
          nonce = challenge;
          return true;
        },
        supportedAlgorithmIDs: ALGORITHMS,
        ...expectedBy(party),
      }).catch(refused(log));
      if (verified?.verified !== true) return 'invalid';
      const { credential, credentialDeviceType: deviceType, credentialBackedUp: backedUp } = verified.registrationInfo;
      return store.register({
        ...{ nonce, issuer, subject, name, deviceType, backedUp, id: credential.id, counter: credential.counter },
        publicKey: Buffer.from(credential.publicKey).toString('base64url'),
        transports: response.transports,
      });
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
