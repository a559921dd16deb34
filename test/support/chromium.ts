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

/** Starts a headless Chromium. A test without a browser fails and says how to install one; it is never skipped. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error(HOW_TO_INSTALL);
  // Chromium's sandbox refuses to start as root.
  const args = process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET;
  return chromium.launch({ executablePath, args });
}
