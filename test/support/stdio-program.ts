/** `countersign stdio` as hosts start it, with a browser that only notes what it is to open. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { packagePath } from '../../apps/shared/config/files.ts';
import { type Act, allowAs } from './signing-in-client.ts';
import { ownFolder } from './test-run.ts';
import { waitFor } from './wait-for.ts';

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A person's machine: a home folder, and a stack whose configuration `stdio` reads. */
export class StdioProgram {
  readonly home = ownFolder('countersign-home-');
  readonly #opened = join(this.home, 'opened');
  readonly #environment: Record<string, string>;

  constructor(environment: Record<string, string>) {
    const browser = join(this.home, 'browser');
    writeFileSync(browser, `#!/bin/sh\necho "$1" >> '${this.#opened}'\n`);
    chmodSync(browser, 0o755);
    this.#environment = { ...environment, BROWSER: browser, COUNTERSIGN_HOME: join(this.home, 'own') };
  }

  /** What the official stdio transports take. They pass few variables on, as hosts do. */
  server(...args: string[]) {
    return {
      command: process.execPath,
      args: [packagePath('dist', 'apps', 'cli', 'main.js'), 'stdio', ...args],
      env: { PATH: process.env['PATH'] ?? '', ...this.#environment },
      stderr: 'ignore' as const,
    };
  }

  /** Runs it to its end. */
  run(...args: string[]): Promise<Run> {
    const { command, args: all, env } = this.server(...args);
    return new Promise((resolve) => {
      execFile(command, all, { env, cwd: this.home }, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
      });
    });
  }

  /** Addresses that browsers were to open. */
  get opened(): string[] {
    return existsSync(this.#opened) ? readFileSync(this.#opened, 'utf8').trim().split('\n') : [];
  }

  /** What the person does in the window that opens as the given one of all, until its last page has these words. */
  async inWindow(context: BrowserContext, act: Act, { which = 1, last = 'You are signed in' } = {}): Promise<string> {
    const address = await waitFor(() => this.opened[which - 1]);
    const page = await context.newPage();
    await page.goto(address);
    await act(page);
    await page.getByText(last).waitFor();
    await page.close();
    return address;
  }

  /** The person, who presses a name at the embedded issuer in the window that opens as the given one of all. */
  async signIn(browser: Browser, name: string, which = 1): Promise<string> {
    const context = await browser.newContext();
    const address = await this.inWindow(context, allowAs(name), { which });
    await context.close();
    return address;
  }
}
