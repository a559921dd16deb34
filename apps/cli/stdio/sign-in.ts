import {
  auth,
  type AuthorizationServerMetadata,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  OAuthError,
  RegistrationRejectedError,
  type StoredOAuthClientInformation,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import { type Clock, timeLimit } from '../../shared/clock.ts';
import { isLoopbackHttp } from '../../shared/http/known-hosts.ts';
import type { Limits } from '../../shared/limits.ts';
import { CliError } from '../context.ts';
import { type Answer, Callback } from './callback.ts';
import type { SignedIn, TokenFile } from './token-file.ts';
import { OWN_COMMAND } from '../own-command.ts';

const CLIENT_NAME = 'countersign stdio';

export interface SignInDeps {
  /** The MCP endpoint. */
  readonly url: string;
  readonly file: TokenFile;
  /** A client that the issuer knows. Without it, this program registers itself. */
  readonly client?: { readonly client_id: string; readonly client_secret?: string | undefined } | undefined;
  /** Scopes to ask for, besides those that the endpoint demands. Default: all that it names. */
  readonly scope?: string | undefined;
  /** Port of this machine to which the issuer sends the browser back. Default: that of the last time, else a free one. */
  readonly port?: number | undefined;
  /** Opens an address in a browser of this machine. Without it, the person opens the address that `say` names. */
  readonly open?: ((address: string) => Promise<void>) | undefined;
  /** Asks for the address of the last page, if there is a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  readonly say: (line: string) => void;
  /** What the person can run to sign in again, with the same options. */
  readonly command: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly limits: Limits;
}

/**
 * Signs a person in at the issuer of an MCP endpoint, through a browser, and puts the tokens into the file. Only one process does so at a
 * time. Throws a `CliError` if there are no tokens in the end.
 */
export async function signIn(deps: SignInDeps): Promise<void> {
  const kept = deps.file.read();
  const port = deps.port ?? portOf(kept?.client.redirect_uris?.[0]);
  const callback = await Callback.listen(deps, port, deps.port !== undefined);
  try {
    await through(callback, kept, deps);
  } catch (error) {
    throw problemOf(error, deps.url);
  } finally {
    await callback.close();
  }
}

async function through(callback: Callback, kept: SignedIn | undefined, deps: SignInDeps): Promise<void> {
  const { url: serverUrl, fetch: fetchFn, file, say } = deps;
  const { resourceMetadataUrl, scope: demanded } = await challengeOf(deps);
  const scope = computeScopeUnion(deps.scope, demanded);
  const provider = new Provider(callback, deps.client ?? (kept && { ...kept.client, issuer: kept.issuer }));
  await auth(provider, {
    ...{ serverUrl, fetchFn, forceReauthorization: true },
    ...(scope !== undefined && { scope }),
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  });
  const { location } = provider;
  // The issuer chooses this address, and a browser would start programs for others.
  if (location === undefined || !(location.protocol === 'https:' || isLoopbackHttp(location))) {
    throw new CliError('The issuer names a page for the sign-in that is not protected by TLS. Tell its operator.');
  }
  const answer = await arrived(callback, location, deps).catch((error: unknown) => {
    // The issuer may no longer know the client, and then shows that to the person alone. The next sign-in registers anew.
    if (kept !== undefined && kept.tokens === undefined) file.forget();
    throw error;
  });
  try {
    await redeem(provider, answer, deps);
    const signedIn = provider.signedIn(serverUrl, location.searchParams.get('scope') ?? undefined);
    // A refresh under way would write its tokens over these.
    await file.alone(async () => file.write(signedIn), 2 * deps.limits.tokenMs);
  } catch (error) {
    answer.reply(error instanceof Refused ? 'refused' : 'failed');
    throw error;
  }
  answer.reply('signedIn');
  say(`Signed in. The tokens are in ${file.path}`);
}

/** What the endpoint demands of a request without a token. @see MCP authorization, protected resource metadata discovery and scope selection */
async function challengeOf({ url, fetch: ask }: SignInDeps): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const answer = await ask(url, { method: 'POST', headers, body: PING, redirect: 'manual' });
  await answer.body?.cancel();
  return answer.status === 401 ? extractWWWAuthenticateParams(answer) : {};
}

const PING = '{"jsonrpc":"2.0","id":0,"method":"ping"}';

/** Has a person sign in, and waits for the answer of the issuer. */
async function arrived(callback: Callback, location: URL, deps: SignInDeps): Promise<Answer> {
  const { open, ask, say, command, clock, limits } = deps;
  const arriving = callback.answer();
  const limit = timeLimit(clock, limits.browserSignInMs);
  const late = new Promise<never>((_resolve, reject) => {
    const minutes = Math.round(limits.browserSignInMs / 60_000);
    limit.signal.addEventListener('abort', () =>
      reject(new CliError(`No sign-in came within ${minutes} minutes. ${againBy(command)}`)),
    );
  });
  const ways: Promise<Answer>[] = [arriving, late];
  if (open === undefined) {
    say(`Open this address in a browser, and sign in:\n\n  ${location.href}\n`);
    if (ask !== undefined) ways.push(ask(PASTE).then((address) => callback.paste(address)));
  } else {
    const start = callback.startOf(location);
    say(`Opening ${start} to sign in at ${location.origin}`);
    const failed = open(start).then(
      () => new Promise<never>(() => undefined),
      () => Promise.reject(new CliError(`No browser could be opened. Run this in a terminal: ${command} --no-browser`)),
    );
    ways.push(failed);
  }
  try {
    return await Promise.race(ways);
  } finally {
    limit.end();
    // The others may still fail, which then tells nothing.
    for (const way of ways) way.catch(() => undefined);
  }
}

const againBy = (command: string) => `To sign in, run: ${command}`;
const REFUSED = 'The sign-in was refused.';
const PASTE = 'If the last page cannot be opened, paste its address here: ';

/** The person or the issuer said no. */
class Refused extends CliError {}

/** Exchanges the code for tokens, after the issuer has proved to be the one that was asked. @see RFC 9207, section 2.4 */
async function redeem(provider: Provider, { parameters }: Answer, deps: SignInDeps): Promise<void> {
  const iss = parameters.get('iss') ?? undefined;
  const authorizationCode = parameters.get('code');
  if (authorizationCode !== null) {
    await auth(provider, {
      serverUrl: deps.url,
      fetchFn: deps.fetch,
      authorizationCode,
      ...(iss !== undefined && { iss }),
    });
    return;
  }
  // An error counts only from the right issuer, too.
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: provider.metadata?.issuer,
    issParameterSupported: provider.metadata?.authorization_response_iss_parameter_supported === true,
  });
  if (parameters.get('error') === 'access_denied') throw new Refused(`${REFUSED} ${againBy(deps.command)}`);
  throw new CliError(`The issuer did not sign you in. Look into its log, then try again.`);
}

/** What the official client asks of a host. It keeps everything in memory until the sign-in has succeeded. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly #state: string;
  /** A client that was named or kept. Without it, the official client registers one. */
  #client: StoredOAuthClientInformation | undefined;
  #verifier = '';
  #tokens: SignedIn['tokens'];
  #discovery: OAuthDiscoveryState | undefined;
  /** The page of the issuer for this sign-in. */
  location: URL | undefined;

  constructor({ redirectUrl, state }: Callback, client: StoredOAuthClientInformation | undefined) {
    this.redirectUrl = redirectUrl;
    this.#state = state;
    this.#client = client;
  }

  get clientMetadata() {
    return {
      client_name: CLIENT_NAME,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  get metadata(): AuthorizationServerMetadata | undefined {
    return this.#discovery?.authorizationServerMetadata;
  }

  state = () => this.#state;
  /** A client that a person named is one of the issuer that the endpoint names. Without its issuer, the official client warns. */
  clientInformation = (of?: { issuer: string }) => {
    if (of !== undefined && this.#client?.issuer === undefined) this.#client &&= { ...this.#client, issuer: of.issuer };
    return this.#client;
  };
  saveClientInformation = (client: StoredOAuthClientInformation) => void (this.#client = client);
  tokens = () => undefined;
  saveTokens = (tokens: NonNullable<SignedIn['tokens']>) => void (this.#tokens = tokens);
  redirectToAuthorization = (location: URL) => void (this.location = location);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovery;
  saveDiscoveryState = (discovery: OAuthDiscoveryState) => void (this.#discovery = discovery);

  signedIn(url: string, scope: string | undefined): SignedIn {
    const { issuer = '', ...client } = this.#client ?? { client_id: '' };
    const resource = this.#discovery?.resourceMetadata?.resource;
    return { url, issuer, resource, client, tokens: this.#tokens, scope };
  }
}

const portOf = (address: string | undefined): number =>
  address !== undefined && URL.canParse(address) ? Number(new URL(address).port) : 0;

/** The same problem, as a person can act on it. */
function problemOf(error: unknown, url: string): unknown {
  if (error instanceof CliError) return error;
  const because = (message: string) => new CliError(message, { cause: error });
  if (error instanceof IssuerMismatchError) {
    return because(
      'The answer did not come from the issuer that was asked, so it was not used. Sign in again; if this repeats, tell the operator.',
    );
  }
  if (error instanceof RegistrationRejectedError) {
    return because(`The issuer refused to register this program (HTTP ${error.status}). ${OWN_CLIENT}`);
  }
  if (error instanceof InsecureTokenEndpointError)
    return because('The issuer takes codes without TLS, so none was sent. Tell its operator.');
  if (error instanceof OAuthError)
    return because(`The issuer gave no token (${error.code}). Sign in again; if this repeats, look into its log.`);
  if (error instanceof Error && error.message.includes('dynamic client registration')) {
    return because(`The issuer registers no programs. ${OWN_CLIENT}`);
  }
  if (error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError')) {
    return because(`Countersign or its issuer does not answer (${url}). Start it, then try again: ${OWN_COMMAND} up`);
  }
  return error;
}

const OWN_CLIENT = 'Ask its operator for a public client, and give its id: --client-id ID';
