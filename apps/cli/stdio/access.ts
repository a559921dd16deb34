import {
  computeScopeUnion,
  discoverAuthorizationServerMetadata,
  extractWWWAuthenticateParams,
  isStrictScopeSuperset,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import type { Clock } from '../../shared/clock.ts';
import type { Limits } from '../../shared/limits.ts';
import { CliError, visible } from '../context.ts';
import type { SignedIn, TokenFile } from './token-file.ts';
import { OWN_COMMAND } from '../own-command.ts';

/** A sign-in that runs in a process of its own. */
export interface Helper {
  /** Resolves when it has ended: with what went wrong, or `undefined`. */
  readonly ended: Promise<string | undefined>;
}

export interface AccessDeps {
  readonly file: TokenFile;
  /** `COUNTERSIGN_TOKEN`, which counts alone. */
  readonly given?: string | undefined;
  /** Starts a sign-in, for these scopes. It ends by itself if another one is under way, or has replaced this token already. */
  readonly startSignIn: (scope: string | undefined, replaced: string | undefined) => Helper;
  /** What a person can run to sign in. */
  readonly command: string;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly limits: Limits;
}

/** What was tried for one request, so that no request tries it twice. */
export interface Tried {
  refresh?: boolean;
  signIn?: boolean;
}

interface Asking {
  /** No person waits for this request, so no browser is opened for it. */
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 250;

/** The tokens of a relay. They are read from the file each time, so a refresh or a sign-out by another process counts at once. */
export class Access {
  readonly #deps: AccessDeps;
  #renewing: Promise<string | undefined> | undefined;
  #helper: { problem?: string | undefined; hasEnded: boolean } | undefined;
  /** A token straight from a sign-in that the gateway refused all the same. Another sign-in would not help. */
  #refused: string | undefined;

  constructor(deps: AccessDeps) {
    this.#deps = deps;
  }

  /** The token to send. Waits for a person if there is none. Throws a `CliError` that says how to sign in. */
  async token(asking: Asking): Promise<string> {
    const { given, file } = this.#deps;
    if (given !== undefined) return given;
    const token = file.read()?.tokens?.access_token;
    if (token === undefined) return this.#signIn(undefined, undefined, asking);
    if (token === this.#refused) throw refused();
    return token;
  }

  /**
   * The token with which to repeat a request that got this answer to `used`; `undefined` if the answer has nothing to do with tokens. Throws a
   * `CliError` if no token would help.
   */
  async after(
    answer: Pick<Response, 'status' | 'headers'>,
    used: string,
    asking: Asking & { readonly tried: Tried },
  ): Promise<string | undefined> {
    if (answer.status === 401) return this.#afterRefusal(used, asking);
    if (answer.status !== 403) return undefined;
    const { error, scope = '' } = extractWWWAuthenticateParams(answer as Response);
    return error === String(OAuthErrorCode.InsufficientScope) ? this.#widen(used, scope, asking) : undefined;
  }

  async #afterRefusal(used: string, { tried, ...asking }: Asking & { readonly tried: Tried }): Promise<string> {
    if (this.#deps.given !== undefined) {
      throw new CliError(
        'Countersign refuses the token in COUNTERSIGN_TOKEN. Set a new one, or unset it to sign in with a browser.',
      );
    }
    if (tried.refresh !== true) {
      tried.refresh = true;
      const renewed = await this.#renew(used);
      if (renewed !== undefined) return renewed;
    }
    if (tried.signIn === true) {
      this.#refused = used;
      throw refused();
    }
    tried.signIn = true;
    return this.#signIn(undefined, used, asking);
  }

  /** The token that replaces `used`. Requests of this process, and other processes, wait for one refresh. */
  #renew(used: string): Promise<string | undefined> {
    const { file, limits } = this.#deps;
    this.#renewing ??= file
      .alone(() => this.#refresh(used), 2 * limits.tokenMs)
      .finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #refresh(used: string): Promise<string | undefined> {
    const { file, fetch: fetchFn } = this.#deps;
    const kept = file.read();
    if (kept?.tokens === undefined) return undefined;
    if (kept.tokens.access_token !== used) return kept.tokens.access_token;
    const { refresh_token: refreshToken } = kept.tokens;
    if (refreshToken === undefined) return undefined;
    try {
      const metadata = await discoverAuthorizationServerMetadata(kept.issuer, { fetchFn });
      const about = { refreshToken, clientInformation: kept.client, fetchFn };
      const tokens = await refreshAuthorization(kept.issuer, {
        ...about,
        ...(metadata && { metadata }),
        ...(kept.resource !== undefined && { resource: kept.resource }),
      });
      file.write({ ...kept, tokens: { ...tokens } });
      return tokens.access_token;
    } catch (error) {
      this.#forgetAfter(error, kept);
      return undefined;
    }
  }

  /** Keeps the tokens, unless the issuer says that they are worth nothing. */
  #forgetAfter(error: unknown, kept: SignedIn): void {
    const code = error instanceof OAuthError ? error.code : undefined;
    if (code === String(OAuthErrorCode.InvalidGrant)) return this.#deps.file.write({ ...kept, tokens: undefined });
    const isUnknown = [OAuthErrorCode.InvalidClient, OAuthErrorCode.UnauthorizedClient].some((one) => one === code);
    if (isUnknown) return this.#deps.file.forget();
    throw new CliError(
      `The sign-in could not be renewed: ${kept.issuer} gives no good answer. Try again when it runs.`,
      {
        cause: error,
      },
    );
  }

  /** Asks a person for more scopes, once. */
  async #widen(
    used: string,
    needed: string,
    { tried, ...asking }: Asking & { readonly tried: Tried },
  ): Promise<string> {
    const { file, given } = this.#deps;
    const before = file.read()?.scope;
    const scope = computeScopeUnion(before, needed);
    if (given !== undefined || tried.signIn === true || !isStrictScopeSuperset(scope, before)) {
      const advice =
        given === undefined ? 'Ask the operator of the issuer for it.' : 'Set COUNTERSIGN_TOKEN to a token with it.';
      throw new CliError(`The token lacks a scope that this request needs: ${visible(needed)}. ${advice}`);
    }
    tried.signIn = true;
    return this.#signIn(scope, used, asking);
  }

  /** Waits until a person has signed in, and the file has another token than `used`. */
  async #signIn(scope: string | undefined, used: string | undefined, { isQuiet, signal }: Asking): Promise<string> {
    const { file, clock, limits, command } = this.#deps;
    const advice = `To sign in, run this in a terminal: ${command}`;
    if (isQuiet) throw new CliError(advice);
    let hasBegun = false;
    const until = clock.monotonicMs() + limits.hostSignInMs;
    for (;;) {
      // In this order: a sign-in writes its token before it ends.
      const isUnderWay = this.#isUnderWay();
      const token = file.read()?.tokens?.access_token;
      if (token !== undefined && token !== used) return token;
      if (!isUnderWay) {
        if (hasBegun) throw new CliError(this.#helper?.problem ?? `The sign-in has ended without success. ${advice}`);
        this.#start(scope, used);
      }
      hasBegun = true;
      if (signal.aborted || clock.monotonicMs() >= until) {
        throw new CliError(`Sign in first: a browser window was opened for it. If there is none: ${advice}`);
      }
      await clock.after(LOOK_EVERY_MS, signal);
    }
  }

  /** Another relay of this user may have begun the sign-in. */
  #isUnderWay(): boolean {
    return this.#helper?.hasEnded === false || this.#deps.file.isSigningIn();
  }

  #start(scope: string | undefined, replaced: string | undefined): void {
    const helper: { problem?: string | undefined; hasEnded: boolean } = { hasEnded: false };
    const { ended } = this.#deps.startSignIn(scope, replaced);
    void ended.then((problem) => Object.assign(helper, { problem, hasEnded: true }));
    this.#helper = helper;
  }
}

const refused = () =>
  new CliError(`Countersign refuses the token that its issuer gave. Run: ${OWN_COMMAND} doctor, which says why.`);
