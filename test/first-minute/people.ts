/** Who takes part: a host of the official client, in which alice signs in, and alice at the inbox in her browser. */
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Browser } from 'playwright-core';
import { isReady } from '../support/press.ts';
import { allowAs, inBrowser, SigningInHost } from '../support/signing-in-client.ts';
import { waitFor } from '../support/wait-for.ts';

/** The host waits as long as the machine needs: only a person would give up. */
const NO_LIMIT = { timeout: 2 ** 31 - 1 };

export interface Host {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

/** Connects by nothing but the address. The server asks for a token, so the person signs in, and then it connects again. */
export async function connectAs(person: string, browser: Browser, url: string): Promise<Host> {
  const signingIn = await new SigningInHost(inBrowser(browser, allowAs(person))).start();
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: signingIn });
  const attempt = async () => {
    const client = new Client({ name: 'a-stock-host', version: '1.0.0' });
    await client.connect(transport());
    return client;
  };
  const close = async (client?: Client) => {
    await client?.close();
    await signingIn.stop();
  };
  try {
    await assert.rejects(attempt());
    await transport().finishAuth((await signingIn.answer()).get('code') ?? '');
    const client = await attempt();
    return { client, close: () => close(client) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The names of the tools, once each server of these prefixes has listed its own. */
export async function toolsOf({ client }: Host, prefixes: readonly string[]): Promise<string[]> {
  return waitFor(async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    return prefixes.every((prefix) => names.some((name) => name.startsWith(`${prefix}__`))) ? names : undefined;
  });
}

/** The text of the result. A call that is still held when the gateway stops waiting goes on as its answer says. */
export async function resultOf({ client }: Host, name: string, args: Record<string, unknown>): Promise<string> {
  let answer = (await client.callTool({ name, arguments: args }, undefined, NO_LIMIT)) as CallToolResult;
  for (let next = nextStepOf(answer); next?.statusTool !== undefined; next = nextStepOf(answer)) {
    const call = { name: next.statusTool, arguments: next.arguments ?? {} };
    answer = (await client.callTool(call, undefined, NO_LIMIT)) as CallToolResult;
  }
  const text = answer.content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n');
  assert.notEqual(answer.isError, true, text);
  return text;
}

const nextStepOf = ({ _meta }: CallToolResult) =>
  _meta?.['dev.countersign/next-step'] as { statusTool?: string; arguments?: Record<string, unknown> } | undefined;

/** Signs in to the inbox at its address, opens the only request once it is there, and confirms it. Answers what the page says of it. */
export async function confirmAs(person: string, browser: Browser, inbox: string): Promise<string> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(inbox);
    await page.getByRole('button', { name: person, exact: true }).click();
    const request = page.locator('main a[href^="/requests/"]').first();
    await waitFor(async () => (await request.count()) > 0 || (await page.reload(), false));
    await request.click();
    const confirm = page.getByRole('button', { name: 'Confirm and run', exact: true });
    const shown = (await page.locator('main h1').innerText()).trim();
    await isReady(confirm, page.locator('form.decision'));
    await confirm.click();
    await page.getByText('You confirmed').first().waitFor();
    return shown;
  } finally {
    await context.close();
  }
}
