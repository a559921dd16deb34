import {
  type Action,
  PEP_CLIENT_ID,
  type Resource,
  type Subject,
} from '../../../workflows/domain/authzen/evaluation.ts';
import { CLIENT_RIGHTS, type ClientRight } from '../../shared/config/access-request-settings.ts';
import { CALLBACK_PATH, type Config } from '../../shared/config/config.ts';
import { type Secrets, secretText } from '../../shared/config/secrets.ts';

/** Who may use the access request service: one credential, and what it is good for. */
export interface AccessRequestClient {
  readonly name: string;
  readonly token: string;
  /** Whose tasks it has to do with: the requester that binding tokens name. Several credentials may act for one. */
  readonly actsFor: string;
  readonly rights: ReadonlySet<ClientRight>;
  /** Whether it may have to do with such a request at all (ARAP-SUB-21, ARAP-STS-14). */
  readonly covers: (request: { subject: Subject; action: Action; resource: Resource }) => boolean;
  /** Issuers whose identities it verifies before it names them. */
  readonly issuers: ReadonlySet<string>;
  readonly callbacks?: CallbackTrust;
}

/** Where callbacks of a client may go, and what proves that they are ours. */
export interface CallbackTrust {
  readonly endpoints: ReadonlySet<string>;
  /** Standard Webhooks secret. */
  readonly secret: string;
  /** Networks, as address and prefix length, that are not public and may be called all the same. */
  readonly networks: readonly string[];
}

type Settings = Config['approvals']['clients'][string];

/** Our own gateway first, then the clients that are configured. Throws `ERR_CONFIG_INVALID` for a secret that is none. */
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
      secret: secrets.callbackSecret,
      // The two sides may well be in one network of their own: whoever configures this service says where the gateway is.
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

/** A pattern is an id, or the beginning of ids with `*` after it. No patterns leave it open. */
export function matches(patterns: readonly string[] | undefined, id: string): boolean {
  if (patterns === undefined) return true;
  return patterns.some((one) => (one.endsWith('*') ? id.startsWith(one.slice(0, -1)) : id === one));
}
