import { randomText } from '../../crypto.ts';

/**
 * A host is a program that signs a person in to call tools in their name: an editor, a chat program. Its client id is the address of a
 * document about it, or begins with this prefix if it has registered itself. Names of people are in lower case, so none is a host.
 */
const REGISTERED = 'Host-';
const ID_BYTES = 16;

/** Scopes by which a program learns who the person is. */
export const OIDC_SCOPES = ['openid', 'profile'];

export type HostKind = 'document' | 'registered';

export function kindOfHost(clientId: string): HostKind | undefined {
  if (/^https:/i.test(clientId)) return 'document';
  return clientId.startsWith(REGISTERED) ? 'registered' : undefined;
}

export const isHost = (clientId: string | undefined): clientId is string =>
  clientId !== undefined && kindOfHost(clientId) !== undefined;

/** An id for a host that registers itself. It is random, so a host cannot take the name of a person or of another host. */
export const newHostId = (): string => `${REGISTERED}${randomText(ID_BYTES)}`;
