import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';
import { waitFor } from '../../support/wait-for.ts';

const COLUMNS = 120;
const ROWS = 36;
/** No step of a program on a busy machine takes this long, in milliseconds. */
const STEP_MS = 150_000;

/** How often a key is pressed, and how long a program has to show what it does, in milliseconds. */
const [PRESSES, BETWEEN_PRESSES_MS] = [20, 3_000];

const execute = promisify(execFile);

/** A terminal, drawn by tmux, with a shell in it. What is typed and seen is what a person types and sees. */
export class Terminal {
  readonly #socket: string;
  readonly #server: ChildProcess;

  private constructor(socket: string, env: NodeJS.ProcessEnv) {
    this.#socket = socket;
    // As a child that stays in the group of this driver: it ends with the driver.
    this.#server = spawn('tmux', [...this.#own(), '-D'], { env, stdio: 'ignore' });
  }

  /** Opens one. `socket`: a path that is free. */
  static async open(socket: string, env: Readonly<Record<string, string>>): Promise<Terminal> {
    const terminal = new Terminal(socket, { ...process.env, ...env, TERM: 'xterm-256color' });
    const session = ['new-session', '-d', '-x', String(COLUMNS), '-y', String(ROWS), '/bin/sh'];
    await waitFor(() =>
      terminal.#tmux(...session).then(
        () => true,
        () => false,
      ),
    );
    await terminal.type(`PS1='$ '; clear`);
    await terminal.see((text) => text === '$', 'the shell');
    return terminal;
  }

  /** Types words, and then Enter: programs take an Enter that comes at once for a line of pasted words. */
  async type(words: string): Promise<void> {
    await this.#tmux('send-keys', '-l', words);
    await this.see((text) => packed(text).includes(packed(words)), words);
    await this.press('Enter');
  }

  /** Presses keys, by the names that tmux gives them. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }

  /** Presses a key until the person sees this: programs ignore keys that come before they have drawn what the keys are for. */
  async pressUntil(key: string, isThis: (text: string) => boolean, what: string): Promise<string> {
    for (let left = PRESSES; ; left -= 1) {
      await this.press(key);
      try {
        return await this.see(isThis, what, BETWEEN_PRESSES_MS);
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  }

  /** What a person sees now. */
  async text(): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p');
    return stdout.replaceAll('\u00A0', ' ').replaceAll(/ +$/gm, '').trimEnd();
  }

  /** Waits until the person sees this, and answers all that they see. Throws with what they see in its place. */
  async see(isThis: (text: string) => boolean, what: string, timeoutMs = STEP_MS): Promise<string> {
    let text = '';
    try {
      return await waitFor(
        async () => {
          text = await this.text();
          return isThis(text) ? text : undefined;
        },
        { timeoutMs },
      );
    } catch (error) {
      throw new Error(`the terminal does not show ${what}:\n${text}`, { cause: error });
    }
  }

  /** Ends it, and the programs in it. */
  close(): void {
    this.#server.kill();
  }

  #own(): string[] {
    return ['-S', this.#socket, '-f', '/dev/null'];
  }

  #tmux(...args: string[]) {
    // Without -N, a command that comes before the server listens starts another one, which has other variables and outlives the driver.
    return execute('tmux', ['-N', ...this.#own(), ...args]);
  }
}

/** Words as they were before the terminal broke them into lines. Boxes and indents are gone. */
export const unbroken = (text: string): string => text.replaceAll(/[\s│]+/g, ' ');

/** The same without any space, to look for long words that the terminal broke. */
export const packed = (text: string): string => text.replaceAll(/[\s│]+/g, '');
