import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../../../workflows/domain/canonical-json.ts';
import { sha256 } from '../../shared/crypto.ts';
import { isAlive, withStartLock } from '../../shared/embedded/process-tools.ts';
import { NotPrivate, readPrivately, writePrivately } from '../../shared/private-file.ts';
import { CliError } from '../context.ts';

const signedInSchema = z.object({
  /** The MCP endpoint. */
  url: z.string(),
  /** The authorization server that knows the client and gave the tokens. Neither goes to another one. */
  issuer: z.string(),
  /** As the endpoint calls itself in its metadata: the audience of the tokens. */
  resource: z.string().optional(),
  client: z.looseObject({
    client_id: z.string(),
    client_secret: z.string().optional(),
    redirect_uris: z.array(z.string()).optional(),
  }),
  /** Absent after the sign-in has ended. */
  tokens: z
    .looseObject({ access_token: z.string(), token_type: z.string(), refresh_token: z.string().optional() })
    .optional(),
  /** Scopes that the sign-in asked for, separated by blanks. */
  scope: z.string().optional(),
});

/** What a sign-in at one gateway leaves. */
export type SignedIn = z.infer<typeof signedInSchema>;

const NAME_DIGITS = 16;

/** A name for an access token, or for none, by which two processes know the same one. It tells nothing of the token. */
export const tokenName = (token: string | undefined): string => sha256(token ?? '').slice(0, NAME_DIGITS);

/** Bits by which a folder is writable for others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * The file with the sign-in at one gateway, in the home folder of the user. Every process of the user shares it. Its methods throw a
 * `CliError` if other users can read the file or change its folder: then the tokens may be known, or those of another person.
 */
export class TokenFile {
  readonly path: string;
  readonly #folders: readonly string[];

  /** @param clientId The client that was named. Each has a sign-in of its own. */
  constructor(url: string, variables: Readonly<Record<string, string>>, clientId = '') {
    const home = variables['HOME'] ?? variables['USERPROFILE'] ?? homedir();
    const own = variables['COUNTERSIGN_HOME'] ?? join(home, '.countersign');
    const folder = join(own, 'hosts');
    this.#folders = [own, folder];
    this.path = join(folder, `${sha256(`${url} ${clientId}`).slice(0, NAME_DIGITS)}.json`);
  }

  /** The sign-in on record; `undefined` if there is none. */
  read(): SignedIn | undefined {
    this.#demandOwnFolders();
    const text = this.#readPrivately();
    if (text === undefined) return undefined;
    const parsed = signedInSchema.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data;
    throw new CliError(`${this.path} is damaged. Delete it and sign in again.`);
  }

  /** Replaces the file in one step, so that other processes read the old or the new sign-in. */
  write(signedIn: SignedIn): void {
    this.#demandOwnFolders();
    writePrivately(this.path, `${JSON.stringify(signedIn, null, 2)}\n`);
  }

  forget(): void {
    rmSync(this.path, { force: true });
  }

  /** Runs `work` while no other process changes the file, after a wait of at most `withinMs`. */
  alone<T>(work: () => Promise<T>, withinMs: number): Promise<T> {
    this.#demandOwnFolders();
    return withStartLock(`${this.path}.lock`, work, withinMs);
  }

  /** Runs the sign-in of a person, unless another one is under way. Then it throws a `CliError`. */
  async signInAlone(work: () => Promise<void>): Promise<void> {
    this.#demandOwnFolders();
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      return work();
    };
    await withStartLock(this.#signInLock, begin, 1).catch((error: unknown) => {
      if (hasBegun) throw error;
      const advice = `Finish it in its browser window, or wait until it ends. If there is none, delete ${this.#signInLock}`;
      throw new CliError(`Another sign-in is under way. ${advice}`);
    });
  }

  /** Whether a process of this user signs a person in. */
  isSigningIn(): boolean {
    try {
      return isAlive(Number(readFileSync(this.#signInLock, 'utf8')));
    } catch {
      return false;
    }
  }

  get #signInLock(): string {
    return `${this.path}.sign-in`;
  }

  #readPrivately(): string | undefined {
    try {
      return readPrivately(this.path);
    } catch (error) {
      if (!(error instanceof NotPrivate)) throw error;
      throw new CliError(`${this.path} ${error.message}. Delete it and sign in again.`);
    }
  }

  /** Users who can change a folder can exchange its files. */
  #demandOwnFolders(): void {
    for (const folder of this.#folders) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const { uid, mode } = statSync(folder);
      if (process.getuid === undefined) continue;
      const advice = `Set COUNTERSIGN_HOME to a folder of your own, or correct its rights: chmod 700 ${folder}`;
      if (uid !== process.getuid()) throw new CliError(`${folder} belongs to another user. ${advice}`);
      const bits = mode & 0o777;
      if ((bits & WRITABLE_BY_OTHERS) === 0) continue;
      throw new CliError(`${folder} can be changed by others (mode ${bits.toString(8)}). ${advice}`);
    }
  }
}
