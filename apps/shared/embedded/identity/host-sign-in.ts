import type { Request, Response } from 'express';
import { errors, type Client, type Provider } from 'oidc-provider';
import { allScopes } from '../../auth/client-credentials.ts';
import type { Config } from '../../config/config.ts';
import { securityHeaders } from '../../http/page-headers.ts';
import { agreementOf, digestOf, type Agreement } from './agreement.ts';
import { formTargetOf } from './host-metadata.ts';
import { hostPage } from './host-page.tsx';
import type { HostState } from './host-state.ts';
import { OIDC_SCOPES } from './hosts.ts';
import { problemPage, signInPath } from './sign-in-page.tsx';

export interface HostSignIn {
  readonly provider: Provider;
  readonly config: Config;
  readonly state: HostState;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** What the host of this sign-in asks for now. The client is read again, since its document may have changed. */
async function askedBy({ provider, config }: HostSignIn, { params }: Interaction) {
  const {
    client_id: clientId,
    redirect_uri: redirectUri,
    resource,
    scope,
  } = params as Record<string, string | undefined>;
  const client = await provider.Client.find(clientId ?? '');
  if (client === undefined) throw new errors.InvalidClient();
  // What the provider checked when the sign-in began may hold no longer.
  if (redirectUri === undefined || !client.redirectUriAllowed(redirectUri)) throw new errors.InvalidRedirectUri();
  const asked = new Set(scope?.split(' '));
  const oidc = OIDC_SCOPES.filter((name) => asked.has(name));
  const forTools = allScopes(config).filter((name) => asked.has(name));
  const indicator = resource ?? config.urls.mcp;
  const agreement = agreementOf({ client, redirectUri, resource: indicator, scopes: [...oidc, ...forTools] });
  return { client, agreement, oidc, forTools };
}

/** Shows the page that asks for consent. */
export async function showHostPage(
  signIn: HostSignIn,
  interaction: Interaction,
  { request, response, hasChanged = false }: { request: Request; response: Response; hasChanged?: boolean },
): Promise<void> {
  const { config, state } = signIn;
  const { agreement, forTools } = await askedBy(signIn, interaction);
  const html = hostPage({
    action: signInPath(interaction.uid),
    people: config.identity.people,
    agreement,
    digest: digestOf(agreement),
    registeredAt: state.clients.registeredAt(agreement.clientId),
    scopes: forTools.map((scope) => ({ scope, tools: toolsOf(config, scope) })),
    sessionSeconds: config.identity.hosts.sessionSeconds,
    hasChanged,
  });
  // Only this page may lead to the host.
  securityHeaders(config.urls.issuer, [formTargetOf(agreement.redirectUri)])(request, response, () =>
    response.send(html),
  );
}

/** The tools that need this scope besides those that every request needs. */
function toolsOf({ gateway, tools }: Config, scope: string): string[] {
  if (gateway.scopes.includes(scope)) return [];
  return Object.entries(tools).flatMap(([name, tool]) => (tool.scopes?.includes(scope) === true ? [name] : []));
}

const FROM_ELSEWHERE = {
  detail: 'The answer came from a page of another site.',
  nextStep: 'Open the sign-in again from your program.',
};

/** Takes the answer of the person. It counts only for what the page showed. */
export async function answerHostPage(
  signIn: HostSignIn,
  interaction: Interaction,
  { request, response }: { request: Request; response: Response },
): Promise<void> {
  const { provider, config } = signIn;
  const site = request.get('Sec-Fetch-Site');
  if (site !== undefined && site !== 'same-origin') {
    return void response.status(403).send(problemPage(FROM_ELSEWHERE));
  }
  const { person, agreement: seen, refuse } = request.body as Record<string, unknown>;
  if (refuse !== undefined) {
    const refused = { error: 'access_denied', error_description: 'the person refused' };
    return provider.interactionFinished(request, response, refused, { mergeWithLastSubmission: false });
  }
  const asked = await askedBy(signIn, interaction);
  if (seen !== digestOf(asked.agreement)) {
    return showHostPage(signIn, interaction, { request, response, hasChanged: true });
  }
  const found = config.identity.people.find(({ name }) => name === person);
  if (found === undefined)
    return void response.status(400).send(problemPage({ detail: 'There is no person of that name.' }));
  const grantId = await grantTo(signIn, found.name, asked);
  const login = { accountId: found.name, remember: false };
  await provider.interactionFinished(
    request,
    response,
    { login, consent: { grantId } },
    { mergeWithLastSubmission: false },
  );
}

interface Allowed {
  readonly client: Client;
  readonly agreement: Agreement;
  readonly oidc: readonly string[];
  readonly forTools: readonly string[];
}

async function grantTo({ provider, state }: HostSignIn, accountId: string, allowed: Allowed): Promise<string> {
  const { client, agreement, oidc, forTools } = allowed;
  const grant = new provider.Grant({ clientId: client.clientId, accountId });
  if (oidc.length > 0) grant.addOIDCScope(oidc.join(' '));
  if (forTools.length > 0) grant.addResourceScope(agreement.resource, forTools.join(' '));
  const grantId = await grant.save();
  state.grants.agree(grantId, agreement);
  return grantId;
}
