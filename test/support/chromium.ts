import { chromium, type Browser } from 'playwright-core';
import { findChromium, HOW_TO_INSTALL } from './find-chromium.mjs';

/** A test browser connects to our servers only: all background activity of Chromium is off. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

/** Fewer processes: a page is loaded and drawn in the same way, and takes less of the processor. */
const FEW_PROCESSES = ['--disable-gpu', '--in-process-gpu', '--renderer-process-limit=1'];

/** An action on a page may take this long, because the machine may stand still during it. Playwright's default is half of that. */
const PATIENCE_MS = 60_000;

interface BrowserOptions {
  /** Whether its people have the five seconds to undo a decision. They have switched them off otherwise, as the inbox lets them. */
  readonly canUndo?: boolean;
}

/** Starts a headless Chromium. A test without a browser fails and says how to install one; it is never skipped. */
export async function launchBrowser({ canUndo = false }: BrowserOptions = {}): Promise<Browser> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error(HOW_TO_INSTALL);
  // Chromium's sandbox refuses to start as root.
  const args = [...QUIET, ...FEW_PROCESSES, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  const browser = await chromium.launch({ executablePath, args });
  const newContext = browser.newContext.bind(browser);
  // A page that is opened without a context gets one here, too.
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(PATIENCE_MS);
    if (!canUndo) await context.addInitScript(decideAtOnce);
    return context;
  };
  return browser;
}

/** Runs in each page. */
function decideAtOnce(): void {
  // Empty pages have no storage.
  if (location.protocol.startsWith('http')) localStorage.setItem('at-once', 'on');
}
