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

interface BrowserOptions {
  /** Whether its people have the five seconds to undo a decision. They have switched them off otherwise, as the inbox lets them. */
  readonly canUndo?: boolean;
}

/** Starts a headless Chromium. A test without a browser fails and says how to install one; it is never skipped. */
export async function launchBrowser({ canUndo = false }: BrowserOptions = {}): Promise<Browser> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error(HOW_TO_INSTALL);
  // Chromium's sandbox refuses to start as root.
  const args = process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET;
  const browser = await chromium.launch({ executablePath, args });
  if (!canUndo) decideAtOnce(browser);
  return browser;
}

function decideAtOnce(browser: Browser): void {
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    await context.addInitScript(() => {
      // Empty pages have no storage.
      if (location.protocol.startsWith('http')) localStorage.setItem('at-once', 'on');
    });
    return context;
  };
}
