import type { Request } from 'express';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import { openStage } from '../../../workflows/domain/access-request/stages.ts';
import type { RelyingParty } from '../passkeys/relying-party.ts';
import { QrCode } from './qr-code.tsx';
import { capacitiesOf, type InboxHttp, obstacleTo, type Reading } from './seat.ts';

/** What the form for a decision needs where an approval demands a passkey. */
export interface PasskeyDemand {
  readonly nonce: string;
  /** For the browser, by the value of `onBehalfOf`. Empty if the visitor has no passkey. */
  readonly options: Readonly<Record<string, PublicKeyCredentialRequestOptionsJSON>>;
  readonly place: Place;
}

/** Where the visitor opened the page, and where passkeys work. */
export interface Place {
  /** Address of the page at the site of the passkeys; undefined if there is none. */
  readonly address: string | undefined;
  readonly isHere: boolean;
  /** Whether no other device reaches the address. */
  readonly isLocal: boolean;
}

/** Where browsers offer the passkeys of this site, seen from a request for one of its pages. */
export function placeOf(
  party: RelyingParty | undefined,
  request: Pick<Request, 'get' | 'originalUrl'>,
  page: string,
): Place {
  const isHere = party !== undefined && request.get('Host')?.toLowerCase() === new URL(party.origin).host;
  return { address: party && `${party.origin}${page}`, isHere, isLocal: party?.isLocal ?? false };
}

/** Gives out what the visitor's passkey signs. Undefined if they cannot decide here, or the open stage demands no passkey. */
export async function passkeyDemand(
  { passkeys }: Pick<InboxHttp, 'passkeys'>,
  { request, seat }: Reading,
  http: Request,
): Promise<PasskeyDemand | undefined> {
  if (openStage(request).passkey !== true || seat.visitor.via !== 'inbox') return undefined;
  if (obstacleTo(seat, request) !== undefined) return undefined;
  const { generation, stage, callDigest } = request;
  const signer = seat.visitor.subject;
  const approvers = capacitiesOf(seat, request).map(({ approver }) => approver.subject);
  const vote = { request: request.id, generation, stage, callDigest, signer };
  const { nonce, options } = await passkeys.offer(vote, approvers);
  const byChoice = [...options].map(([approver, each]) => [approver === signer ? '' : approver, each] as const);
  const place = placeOf(passkeys.party, http, `/requests/${encodeURIComponent(request.id)}`);
  return { nonce, options: Object.fromEntries(byChoice), place };
}

/** Whether the visitor can approve on this page. */
export const canConfirm = ({ options, place }: PasskeyDemand): boolean =>
  place.isHere && Object.keys(options).length > 0;

/** The fields that the script fills, and what the visitor has to know. */
export function PasskeyPart({ demand }: { demand: PasskeyDemand }) {
  const { nonce, place } = demand;
  if (!canConfirm(demand)) return <Impossible {...demand} />;
  return (
    <>
      <input type="hidden" name="passkeyNonce" value={nonce} />
      <input type="hidden" name="passkey" value="" />
      <p class="notice warn" data-without-script>
        An approval needs your passkey, and a passkey needs JavaScript. You can deny without it.
      </p>
      <p class="hint">
        When you press “Approve”, your browser asks for your passkey. A denial needs none.{' '}
        <a href="/passkeys">Your passkeys</a>
      </p>
      <p class="notice warn" role="alert" data-passkey-problem hidden />
      <OnThePhone {...place} />
      <script src="/assets/passkeys.js" defer />
    </>
  );
}

function Impossible({ place }: PasskeyDemand) {
  if (!place.isHere) return <Elsewhere {...place} />;
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>An approval needs a passkey, and you have none.</strong> <a href="/passkeys">Register a passkey</a>, and
        open this page again. You can deny without one.
      </p>
      <OnThePhone {...place} />
    </div>
  );
}

/** Says where passkeys work, if not at the address of this page. */
export function Elsewhere({ address }: Pick<Place, 'address'>) {
  if (address === undefined) {
    return (
      <p class="notice warn" role="note">
        <strong>Passkeys need an https address with a domain name.</strong> Ask the operator to set{' '}
        <code>approvals.url</code>.
      </p>
    );
  }
  return (
    <p class="notice warn" role="note">
      <strong>Passkeys do not work at this address.</strong> They are bound to <a href={address}>{address}</a>. Open the
      page there, and sign in again if asked.
    </p>
  );
}

/** The same page for a device that has the passkey. The address carries nothing that decides or signs in. */
function OnThePhone({ address, isLocal }: Place) {
  if (address === undefined) return null;
  return (
    <details>
      <summary>Use the passkey on your phone</summary>
      <p class="hint">
        {isLocal ? 'Only this machine reaches this address. Elsewhere, scan' : 'Scan'} the code with the phone, sign in
        there, and approve on its page: <a href={address}>{address}</a>
      </p>
      <QrCode text={address} label={`QR code for ${address}`} />
    </details>
  );
}
