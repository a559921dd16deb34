/** How a client gets its token: it signs a person in, known by a document or by registration; or a person pastes the token. */
export const WAYS_IN = ['document', 'registration', 'token'] as const;
export type WayIn = (typeof WAYS_IN)[number];

/** The program that drives one client. The README of this folder says what it reads and prints. */
export interface Driver {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to those of all drivers. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What a row gives to the installation of its client. */
export interface Installing {
  /** Tells a person about a step that takes long. */
  readonly say: (line: string) => void;
}

/** A client of the matrix: what is known about it before it runs. */
export interface Host {
  /** Chooses it on the command line, and is the name of its driver. */
  readonly name: string;
  /** The name in the table. */
  readonly title: string;
  /** The pinned version of its package. */
  readonly version: string;
  readonly language: 'TypeScript' | 'Python' | 'Go' | 'Java' | 'Rust' | 'program';
  /** The ways in that the client has, the best one first. The first one is tried; `--sign-in` chooses another one. */
  readonly waysIn: readonly [WayIn, ...WayIn[]];
  /**
   * `wait`: a held call is open until the wait of the gateway ends. `give up`: the client ends it before that, and its program repeats the
   * call. `task`: the client holds a task.
   */
  readonly holds: 'wait' | 'give up' | 'task';
  /**
   * A person sits at it, in a terminal. It asks them to open the page of each held call, makes another call meanwhile, and is closed and
   * opened again around the approval of the last call.
   */
  readonly isInTerminal?: boolean;
  /** How long the client waits for a call by itself, as Markdown, such as `60 s`. */
  readonly ownLimit: string;
  /** What a reader has to set in this client, as Markdown. Empty: nothing. */
  readonly toSet: string;
  /** It knows itself by a document of its vendor, which tests cannot reach. It registers where the issuer reads no documents. */
  readonly hasOwnDocument?: boolean;
  /** Only with `--large`: its package has hundreds of megabytes. */
  readonly isLarge?: boolean;
  /** Installs its packages by their ordinary client, once. Throws a `NotHere` if this machine lacks a program for that. */
  readonly install: (installing: Installing) => Promise<Driver>;
}

/** A client cannot run on this machine. The message says what is missing, and how to get it. */
export class NotHere extends Error {}

/** What came out, as `results.json` keeps it and the table shows it. */
export interface Row {
  readonly name: string;
  readonly version: string;
  /** The day of the run, such as `2026-11-26`. */
  readonly date: string;
  readonly outcome: 'passed' | 'failed' | 'not run';
  /** Why it failed or did not run. */
  readonly reason?: string;
  readonly wayIn: WayIn;
  /** The following members are what the gateway saw of the client. */
  readonly clientName?: string;
  readonly revision?: string;
  /** Whether its held calls asked for progress. */
  readonly asksForProgress?: boolean;
}
