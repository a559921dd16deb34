import {
  type Action,
  PEP_CLIENT_ID,
  type Resource,
  type Subject,
} from '../../../workflows/domain/authzen/evaluation.ts';
import { CLIENT_RIGHTS, type ClientRight } from '../../shared/config/access-request-settings.ts';
import { CALLBACK_PATH, PREVIEWS_PATH, type Config } from '../../shared/config/config.ts';
import { type Secrets, secretText } from '../../shared/config/secrets.ts';

/** A client of the access request service: one credential and its permissions. */
export interface AccessRequestClient {
  readonly name: string;
  readonly token: string;
  /** The requester in binding tokens, whose tasks it can use. Several credentials may act for one requester. */
  readonly actsFor: string;
  readonly rights: ReadonlySet<ClientRight>;
  /** Whether it may submit and read such a request (ARAP-SUB-21, ARAP-STS-14). */
  readonly covers: (request: { subject: Subject; action: Action; resource: Resource }) => boolean;
  /** Issuers whose identities the client verifies before it names them. */
  readonly issuers: ReadonlySet<string>;
  readonly callbacks?: CallbackTrust;
}

/** The allowed endpoints for a client's callbacks, and the secret that signs them. */
export interface CallbackTrust {
  readonly endpoints: ReadonlySet<string>;
  /** Standard Webhooks secret. */
  readonly secret: string;
  /** Non-public networks that may be called, as address and prefix length. */
  readonly networks: readonly string[];
  /** Where the preview of a call is asked for again. Only our own gateway has one. */
  readonly previews?: string;
}

type Settings = Config['approvals']['clients'][string];

/** Our own gateway first, then the configured clients. Throws `ERR_CONFIG_INVALID` for an unusable secret. */
export async function accessRequestClients(
  config: Config,
  secrets: Pick<Secrets, 'accessRequestToken' | 'callbackSecret'>,
): Promise<AccessRequestClient[]> {
  const configured = Object.entries(config.approvals.clients).map(([name, settings]) => clientOf(name, settings));
  return [ownGateway(config, secrets), ...(await Promise.all(configured))];
}

function ownGateway({ urls }: Config, secrets: Pick<Secrets, 'accessRequestToken' | 'callbackSecret'>) {
  return {
    name: PEP_CLIENT_ID,
    token: secrets.accessRequestToken,
    actsFor: PEP_CLIENT_ID,
    rights: new Set(CLIENT_RIGHTS),
    covers: () => true,
    issuers: new Set([urls.issuer]),
    callbacks: {
      endpoints: new Set([`${urls.gateway}${CALLBACK_PATH}`]),
      previews: `${urls.gateway}${PREVIEWS_PATH}`,
      secret: secrets.callbackSecret,
      // Both sides may share a private network. The operator, not the client, configures the gateway's address.
      networks: ['0.0.0.0/0', '::/0'],
    },
  } satisfies AccessRequestClient;
}

async function clientOf(name: string, settings: Settings): Promise<AccessRequestClient> {
  const setting = `approvals.clients.${name}`;
  const { subjects, actions, resources, callbackSecret } = settings;
  const token = await secretText(settings.token, `${setting}.token`);
  const callbacks = callbackSecret && {
    endpoints: new Set(settings.callbacks),
    secret: await secretText(callbackSecret, `${setting}.callbackSecret`),
    networks: settings.callbackNetworks,
  };
  return {
    name,
    token,
    actsFor: settings.actsFor ?? name,
    rights: new Set(settings.rights),
    covers: ({ subject, action, resource }) =>
      matches(subjects, subject.id) && matches(actions, action.name) && matches(resources, resource.id),
    issuers: new Set(settings.issuers),
    ...(callbacks && { callbacks }),
  };
}

/** A pattern is an id, or a prefix with `*`. Without patterns, every id matches. */
export function matches(patterns: readonly string[] | undefined, id: string): boolean {
  if (patterns === undefined) return true;
  return patterns.some((one) => (one.endsWith('*') ? id.startsWith(one.slice(0, -1)) : id === one));
}
