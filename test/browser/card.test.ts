import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';
import type { Browser, Page } from 'playwright-core';
import { GATED_CALL_STATES, type GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import { type HostOptions, openHostPage, openInHost } from '../support/apps-host.ts';
import { launchBrowser } from '../support/chromium.ts';
import { GatewayUnderTest } from '../support/gateway.ts';
import { aView, REQUEST_REF, requestable } from '../support/gateway-world.ts';
import { REVISION } from '../support/gateway-wire.ts';
import { waitFor } from '../support/wait-for.ts';

const DATA = 'dev.countersign/held-call';
const PAGE = 'https://approvals.test/requests/1';
const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
type Host = Awaited<ReturnType<typeof openInHost>>;

const gateway = new GatewayUnderTest();
let browser!: Browser;
let client!: Client;
let page: Page;
let open: Host | undefined;
beforeAll(async () => {
  await gateway.start();
  browser = await launchBrowser();
  page = await openHostPage(browser);
  const versionNegotiation = { mode: { pin: REVISION } };
  client = new Client({ name: 'host', version: '0' }, { capabilities: APPS, versionNegotiation });
  const requestInit = { headers: { authorization: 'Bearer token-of-alice' } };
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.mcpUrl), { requestInit }));
});
afterAll(async () => {
  await client?.close();
  await browser?.close();
  await gateway.stop();
});
beforeEach(() => {
  gateway.reset();
  gateway.world.decision = requestable();
});
afterEach(() => open?.close());

/** A host that shows the page of a tool of the gateway. */
async function inHost(options?: HostOptions): Promise<Host> {
  const { tools } = await client.listTools();
  const address = getToolUiResourceUri(tools.find(({ name }) => name === 'get_request_status') ?? {});
  open = await openInHost(page, client, address ?? 'none', options);
  return open;
}
/** Shows the answer of the gateway about a call in this state. */
async function tell(host: Host, state: GatedCallState): Promise<void> {
  const isOpen = state === 'pending' && { approvalPage: PAGE, decideBy: '2126-12-01T09:00:00.000Z' };
  const requestRef = `req_of_a_call_in_the_state_${state}`;
  gateway.world.view = aView({ state, requestRef, ...isOpen });
  const asked = { name: 'get_request_status', arguments: { reference: REQUEST_REF } };
  await host.show(asked.arguments, await client.callTool(asked));
  await isShown(host, requestRef);
}
/** A host that shows a call which waits. */
async function waiting(options?: HostOptions): Promise<Host> {
  const host = await inHost(options);
  await tell(host, 'pending');
  return host;
}
const textOf = ({ card }: Host) => card.locator('main').innerText();
const isShown = (host: Host, text: string) => waitFor(async () => (await textOf(host)).includes(text));
const button = ({ card }: Host) => card.getByRole('button', { name: 'Open the page of the request' });

const HEADINGS: Record<GatedCallState, string> = {
  preparing: 'Waiting for an approval',
  pending: 'Waiting for an approval',
  input_required: 'More information is needed',
  granted: 'An approval has arrived',
  claimed: 'The tool is being called',
  executed: 'The tool ran',
  execution_error: 'The tool ended with an error',
  outcome_unknown: 'The outcome is unknown',
  denied: 'Refused',
  cancelled: 'Cancelled',
  failed: 'The request failed',
};

/** Of text against its background, for each text in the card. @see WCAG 2.2, contrast ratio */
const contrastsIn = (host: Host) =>
  host.frame()?.evaluate(() => {
    const luminance = (colour: string) => {
      const parts = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => Number(part) / 255);
      const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      const [r = 0, g = 0, b = 0] = linear;
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const { body } = document;
    const paper = getComputedStyle(body).backgroundColor;
    return Array.from(body.querySelectorAll('p, h1, dt, dd, button')).map((one) => {
      const { color, backgroundColor } = getComputedStyle(one);
      const behind = backgroundColor.endsWith(', 0)') ? paper : backgroundColor;
      const [high = 0, low = 0] = [luminance(color), luminance(behind)].sort((a, b) => b - a);
      return { text: one.textContent, ratio: (high + 0.05) / (low + 0.05) };
    });
  });

describe('the card of a held call, in a host', () => {
  it('says how the call is in each state, and reaches no network [APPS-003, APPS-005, APPS-006]', async () => {
    const host = await inHost();
    for (const state of GATED_CALL_STATES) {
      await tell(host, state);
      const text = await textOf(host);
      expect([state, await host.card.getByRole('heading').innerText()]).toEqual([state, HEADINGS[state]]);
      expect(text).toMatch(/The tool (has not run|did not run|ran once|may have run)|is being carried out/);
      expect(text).toContain('bank__transfer');
      expect(text.includes('A person who may approve it')).toBe(/^pending|preparing$/.test(state));
      expect([text.includes(PAGE), await button(host).count()]).toEqual([
        state === 'pending',
        Number(state === 'pending'),
      ]);
      expect(text).toContain('This card decides nothing');
      expect(text.includes('A person decides on the page')).toBe(state === 'pending');
      const isOpen = ['preparing', 'pending', 'input_required', 'granted', 'claimed'].includes(state);
      expect(text.includes('Ask the agent for a newer state')).toBe(isOpen);
    }
    await waitFor(() => host.heights.length > 1);
    expect(host.bridge.getAppVersion()).toEqual({ name: 'countersign-held-call', version: '1.0.0' });
    expect([host.reached, host.complaints]).toEqual([[], []]);
  });

  it('has the host open the page, by the keyboard alone', async () => {
    const host = await waiting();
    await host.page.keyboard.press('Tab');
    expect(await host.card.locator(':focus').innerText()).toBe('Open the page of the request');
    await host.page.keyboard.press('Enter');
    await waitFor(() => host.opened.length > 0);
    expect([host.opened, host.reached]).toEqual([[PAGE], []]);
  });

  it('says to copy the address where the host refuses to open it', async () => {
    const host = await waiting({ links: 'refused' });
    await button(host).click();
    await isShown(host, 'Copy its address');
    expect(host.opened).toEqual([PAGE]);
  });

  it('shows the address alone where the host opens none', async () => {
    const host = await waiting({ links: 'unsupported' });
    expect([await button(host).count(), await textOf(host)]).toEqual([0, expect.stringContaining(PAGE)]);
  });

  it.each(['light', 'dark'] as const)(
    'can be read in the theme of the host, and does not move: %s [APPS-007]',
    async (theme) => {
      const host = await inHost({ theme });
      for (const state of ['pending', 'claimed', 'executed', 'denied'] as const) {
        await tell(host, state);
        const contrasts = (await contrastsIn(host)) ?? [];
        expect(contrasts.length).toBeGreaterThan(10);
        expect(contrasts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
      }
      const look = await host.frame()?.evaluate(() => ({
        scheme: getComputedStyle(document.documentElement).colorScheme,
        moving: document.getAnimations().length,
      }));
      expect(look).toEqual({ scheme: theme, moving: 0 });
    },
  );
});

describe('the card', () => {
  const said = (shown: object) =>
    ({ content: [{ type: 'text', text: 'x' }], _meta: { [DATA]: shown } }) as CallToolResult;

  it('shows what it gets as text', async () => {
    const host = await inHost();
    const evil = '<img src="https://evil.test/x" onerror="document.title=1"><script>alert(1)</script>';
    await host.show({}, said({ state: 'waiting', tool: evil, statement: evil, reference: evil }));
    await isShown(host, evil);
    expect(await host.card.locator('img, main script').count()).toBe(0);
    expect([host.reached, host.complaints]).toEqual([[], []]);
  });

  it('opens no address but one of the web without a user', async () => {
    const host = await inHost();
    for (const page of [
      'javascript:alert(1)',
      'data:text/html,x',
      'https://approvals.test@evil.test/',
      'file:///etc/passwd',
      'not an address',
      7,
    ]) {
      const tool = `a tool with ${String(page).length} characters`;
      await host.show({}, said({ state: 'waiting', tool, page }));
      await isShown(host, tool);
      expect(await button(host).count()).toBe(0);
      expect(await textOf(host)).not.toMatch(/evil|alert|passwd/);
    }
  });

  it.each<[string, CallToolResult]>([
    ['has none', said({})],
    [
      'is in a structured result, which upstreams can write',
      { content: [], structuredContent: { [DATA]: { state: 'ran' } } },
    ],
    ['has an unknown state', said({ state: 'approved', tool: 'a tool' })],
    ['has the name of a member of every object', said({ state: 'constructor', tool: 'a tool' })],
  ])('shows no call for an answer whose call %s', async (_case, answer) => {
    const host = await inHost();
    await host.show({}, answer);
    await isShown(host, 'No call is held');
    expect(await textOf(host)).not.toMatch(/a tool|ran/);
  });

  it('says that a call can no longer be decided, when its time is over', async () => {
    const host = await inHost();
    const call = { state: 'waiting', tool: 'a tool', statement: 'It waits.', page: PAGE };
    await host.show({}, said({ ...call, decideBy: '2020-12-01T09:00:00.000Z' }));
    await isShown(host, 'The time to decide is over');
    const text = await textOf(host);
    expect(text).toMatch(/Decide before\s+1 Dec 2020, 09:00\s/);
    expect(text).toContain('Ask the agent what became of the call');
    expect(text).not.toMatch(/It waits|A person/);
    expect(text).toContain(PAGE);
  });

  it('listens to its host alone', async () => {
    const host = await inHost();
    const forged = {
      jsonrpc: '2.0',
      method: 'ui/notifications/tool-result',
      params: said({ state: 'ran', tool: 'forged' }),
    };
    await host.page.evaluate((message) => {
      const other = document.createElement('iframe');
      const script = `parent.frames[0].postMessage(${JSON.stringify(message)}, '*'); parent.postMessage('sent', '*')`;
      other.srcdoc = ['<script>', script, '</', 'script>'].join('');
      const isSent = new Promise<void>((resolve) =>
        window.addEventListener('message', ({ data }) => data === 'sent' && resolve()),
      );
      document.body.append(other);
      return isSent;
    }, forged);
    await host.show({}, said({ state: 'refused', tool: 'a tool' }));
    await isShown(host, 'a tool');
    expect(await textOf(host)).not.toContain('forged');
  });

  it('says that the agent stopped waiting, and what that means for the request', async () => {
    const host = await inHost();
    await host.bridge.sendToolInput({ arguments: {} });
    await host.bridge.sendToolCancelled({ reason: 'stopped' });
    await isShown(host, 'stays as it is');
  });
});
