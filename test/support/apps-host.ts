// A host of MCP Apps: the official bridge, and a page in Chromium that shows a page of the server in a frame.
import { AppBridge } from '@modelcontextprotocol/ext-apps/app-bridge';
import type { CallToolResult, Client, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Browser, Page } from 'playwright-core';

/** For a page that asks for no other origin. @see SEP-1865, host behavior */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'none'",
].join('; ');
const HOST = 'http://host.test/';
const BODY = `<!doctype html><title>Host</title><iframe title="card" sandbox="allow-scripts" style="width: 480px; height: 600px; border: 0"></iframe>
<script>
  const frame = document.querySelector('iframe');
  window.addEventListener('message', ({ source, data }) => source === frame.contentWindow && fromFrame(data));
</script>`;

export interface HostOptions {
  readonly theme?: 'light' | 'dark';
  /** Whether the host opens addresses. Default: it does. */
  readonly links?: 'opened' | 'refused' | 'unsupported';
}

/** What becomes of the messages that a page of a host gets from its frame. */
const receivers = new WeakMap<Page, (message: JSONRPCMessage) => void>();

/** A page for one host after another. A new page costs a browser as much as five loads. */
export async function openHostPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage();
  await page.exposeFunction('fromFrame', (message: JSONRPCMessage) => receivers.get(page)?.(message));
  return page;
}

/** Carries messages between the bridge, which runs here, and the frame. */
class FrameTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async start(): Promise<void> {
    receivers.set(this.#page, (message) => this.onmessage?.(message));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#page.evaluate(
      (sent) => document.querySelector('iframe')?.contentWindow?.postMessage(sent, '*'),
      message,
    );
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}

/** Opens the page of the server at this address in a frame of a host. */
export async function openInHost(page: Page, client: Client, address: string, options: HostOptions = {}) {
  const { theme = 'light', links = 'opened' } = options;
  /** Addresses that the frame or the page asked for, beside the page itself. */
  const reached: string[] = [];
  await page.route('**/*', async (route) => {
    const url = route.request().url();
    if (url === HOST)
      return route.fulfill({ body: BODY, headers: { 'content-security-policy': POLICY, 'content-type': 'text/html' } });
    reached.push(url);
    return route.abort();
  });
  const complaints: string[] = [];
  page.on('console', (line) => void complaints.push(line.text()));
  page.on('pageerror', (error) => void complaints.push(String(error)));
  const opened: string[] = [];
  const heights: (number | undefined)[] = [];
  const host = { name: 'host-of-a-test', version: '0' };
  const bridge = new AppBridge(client, host, links === 'unsupported' ? {} : { openLinks: {} }, {
    hostContext: { theme, locale: 'en-GB', timeZone: 'UTC' },
  });
  bridge.onopenlink = async ({ url }) => {
    opened.push(url);
    return links === 'refused' ? { isError: true } : {};
  };
  bridge.onsizechange = ({ height }) => void heights.push(height);
  const isReady = new Promise<void>((resolve) => (bridge.oninitialized = () => resolve()));
  await page.goto(HOST);
  // No message of an earlier host's frame arrives after that.
  await bridge.connect(new FrameTransport(page));
  const { contents } = await client.readResource({ uri: address });
  const [content] = contents;
  const html = content !== undefined && 'text' in content ? content.text : '';
  await page.evaluate((text) => document.querySelector('iframe')?.setAttribute('srcdoc', text), html);
  await isReady;
  return {
    ...{ page, bridge, opened, heights, reached, complaints },
    card: page.frameLocator('[title=card]'),
    /** The frame, for questions about its document. */
    frame: () => page.frames()[1],
    async show(input: Record<string, unknown>, result: CallToolResult): Promise<void> {
      await bridge.sendToolInput({ arguments: input });
      await bridge.sendToolResult(result);
    },
    async close(): Promise<void> {
      await bridge.teardownResource({});
      await bridge.close();
      await page.unrouteAll();
      for (const event of ['console', 'pageerror']) page.removeAllListeners(event);
    },
  };
}
