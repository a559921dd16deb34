import { freePort } from '../../apps/shared/embedded/process-tools.ts';
import { Browser } from '../support/browser.ts';
import { formOf } from '../support/hosts.ts';
import type { Stack } from '../support/stack.ts';
import type { Subject } from './run-set.ts';

/** The suite prints the address that a person has to open, alone on its line. */
const ADDRESS = /^http\S+[?&]client_id=\S+$/;

/**
 * The embedded issuer, where the suite is a program that has registered itself. A person opens the address that the suite prints, allows
 * the program, and goes back to it.
 */
export async function issuerSubject({ config }: Stack, person: string): Promise<Subject> {
  const { issuer, mcp } = config.urls;
  const port = await freePort();
  const client = await register(issuer, `http://127.0.0.1:${port}/callback`);
  return {
    args: [
      ...['authorization', '--url', issuer, '--client-id', client],
      ...['--resource', mcp, '--port', String(port)],
    ],
    async onLine(line) {
      if (ADDRESS.test(line)) await allow(line, person);
    },
  };
}

async function register(issuer: string, redirectUri: string): Promise<string> {
  const metadata = {
    client_name: 'MCP conformance',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  };
  const answer = await fetch(`${issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
  if (answer.status !== 201) throw new Error(`the issuer registers no program: ${await answer.text()}`);
  return ((await answer.json()) as { client_id: string }).client_id;
}

async function allow(address: string, person: string): Promise<void> {
  const browser = new Browser(new URL(address).origin);
  const { action, agreement } = formOf(await (await browser.follow(await browser.go(address))).text());
  const back = await browser.follow(await browser.go(action, { agreement, person }));
  const location = back.headers.get('location');
  if (location === null) throw new Error(`the issuer does not lead back: ${back.status} ${await back.text()}`);
  await (await fetch(location)).body?.cancel();
}
