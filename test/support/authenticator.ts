import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** What a page says to the browser, and what the browser then says to the authenticator. Tests change single members. */
export interface Ceremony {
  readonly challenge: string;
  readonly rpId: string;
  readonly origin: string;
  /** Whether the person proved who they are, by a PIN or a fingerprint. */
  readonly isVerified?: boolean;
  /** Default: one more than at the last use. */
  readonly counter?: number;
}

/** Flags of authenticator data. @see Web Authentication Level 3, section 6.1 */
const PRESENT = 0x01;
const VERIFIED = 0x04;
const WITH_KEY = 0x40;

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
const base64url = (data: Buffer) => data.toString('base64url');
const uint16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A text of less than 24 bytes, or bytes of less than 256 bytes, in CBOR. @see RFC 8949, section 3.1 */
const cborText = (text: string) => Buffer.from([0x60 | text.length, ...Buffer.from(text)]);
const cborBytes = (bytes: Buffer) => Buffer.concat([Buffer.from([0x58, bytes.length]), bytes]);

/** An authenticator in software, with one ES256 key. It signs every challenge, as a stolen or faulty one may. */
export class Authenticator {
  readonly id = base64url(randomBytes(32));
  counter = 0;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  /** The browser's answer to a registration, as JSON. */
  create(asked: Ceremony): string {
    const authData = Buffer.concat([this.#data(asked, WITH_KEY), this.#credential()]);
    const attestation = Buffer.concat([
      ...[Buffer.from([0xa3]), cborText('fmt'), cborText('none'), cborText('attStmt'), Buffer.from([0xa0])],
      ...[cborText('authData'), cborBytes(authData)],
    ]);
    const client = clientData('webauthn.create', asked);
    return JSON.stringify({
      ...{ id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {} },
      response: {
        attestationObject: base64url(attestation),
        clientDataJSON: base64url(client),
        transports: ['internal'],
      },
    });
  }

  /** The browser's answer to a request for a signature, as JSON. */
  get(asked: Ceremony): string {
    this.counter = asked.counter ?? this.counter + 1;
    const [data, client] = [this.#data(asked, 0), clientData('webauthn.get', asked)];
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#keys.privateKey);
    return JSON.stringify({
      ...{ id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {} },
      response: {
        authenticatorData: base64url(data),
        clientDataJSON: base64url(client),
        signature: base64url(signature),
      },
    });
  }

  #data({ rpId, isVerified = true }: Ceremony, flags: number): Buffer {
    const all = flags | PRESENT | (isVerified ? VERIFIED : 0);
    return Buffer.concat([sha256(rpId), Buffer.from([all]), uint32(this.counter)]);
  }

  /** AAGUID, id and COSE key. @see RFC 9053, section 2.1 */
  #credential(): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const id = Buffer.from(this.id, 'base64url');
    const [alongX, alongY] = [x, y].map((part) => cborBytes(Buffer.from(part, 'base64url')));
    const key = [Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]), alongX, Buffer.from([0x22]), alongY];
    return Buffer.concat([Buffer.alloc(16), uint16(id.length), id, ...(key as Buffer[])]);
  }
}

const clientData = (type: string, { challenge, origin }: Ceremony) =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
