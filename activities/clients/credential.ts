import { readFileSync } from 'node:fs';
import { Agent, type Dispatcher } from 'undici';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { MAX_ANSWER_BYTES } from './http.ts';

/** How a service is shown who we are. */
export interface CredentialSettings {
  /** Header that has the token: `authorization` with the scheme Bearer, any other with the token alone, as API keys go. */
  readonly credentialHeader: string;
  /** PEM files of a client certificate, its key and, where the service's own is private, who issues that. Read at the start. */
  readonly clientCertificate?:
    { readonly certificate: string; readonly key: string; readonly ca?: string | undefined } | undefined;
}

export interface Credential {
  readonly headers: Readonly<Record<string, string>>;
  /** Connections with the client certificate; undefined where there is none. */
  readonly via: Dispatcher | undefined;
}

/** Throws `ERR_CONFIG_INVALID` when a file of the client certificate cannot be read. */
export function createCredential(
  token: string,
  { credentialHeader: header, clientCertificate }: CredentialSettings,
): Credential {
  return {
    headers: { [header]: header.toLowerCase() === 'authorization' ? `Bearer ${token}` : token },
    via: createConnections(clientCertificate),
  };
}

/** Connections that show this certificate; undefined where there is none. Throws `ERR_CONFIG_INVALID` when a file cannot be read. */
export function createConnections(files: CredentialSettings['clientCertificate']): Dispatcher | undefined {
  if (files === undefined) return undefined;
  const { certificate, key, ca } = files;
  const connect = { cert: read(certificate), key: read(key), ...(ca !== undefined && { ca: read(ca) }) };
  return new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const message = `the client certificate cannot be read: there is no readable file ${file}. Mend clientCertificate.`;
    throw new CountersignError('ERR_CONFIG_INVALID', message, { cause });
  }
}
