import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The headless shell comes first: it draws the same pages without a window, and takes half the processor time. */
const NAMES = [
  'chromium-headless-shell',
  'chrome-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];
const DEBIAN_PACKAGE = 'chromium-headless-shell';
const DOWNLOAD_LIMIT_MS = 180_000;
const APT_LIMIT_MS = 420_000;

/** The advice for a machine where no browser could be found or downloaded. */
export const HOW_TO_INSTALL =
  'No Chromium was found. Set CHROMIUM_PATH, put chromium or google-chrome on the PATH, or run `npx playwright-core install chromium`.';

/**
 * The browser that tests drive: CHROMIUM_PATH, else one on the PATH, else the one Playwright downloaded earlier.
 * @returns {Promise<string | undefined>}
 */
export async function findChromium() {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found !== undefined) return found;
  // Imported late: in a bare clone no package is installed yet when this file is loaded.
  const { chromium } = await import('playwright-core');
  const downloaded = chromium.executablePath();
  return isProgram(downloaded) ? downloaded : undefined;
}

/**
 * Finds a browser, or downloads one: Playwright's own download, then Debian's package when root may install it. @param
 * {(line: string) => void} say called before each step that may take long @returns {Promise<string | undefined>}
 */
export async function obtainChromium(say) {
  const present = await findChromium();
  if (present !== undefined) return present;
  say("downloading Playwright's Chromium (at most 3 minutes)");
  await run(
    process.execPath,
    ['node_modules/playwright-core/cli.js', 'install', '--no-shell', 'chromium'],
    DOWNLOAD_LIMIT_MS,
  );
  const downloaded = await findChromium();
  if (downloaded !== undefined || process.getuid?.() !== 0) return downloaded;
  say(`installing Debian's ${DEBIAN_PACKAGE} with apt-get (at most 7 minutes)`);
  const install = ['install', '-y', '--no-install-recommends', DEBIAN_PACKAGE];
  if (!(await run('apt-get', install, APT_LIMIT_MS)) && (await run('apt-get', ['update'], APT_LIMIT_MS))) {
    await run('apt-get', install, APT_LIMIT_MS);
  }
  return findChromium();
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether the program succeeded within its time. Only its authors can use its output. */
function run(program, args, limitMs) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: 'ignore',
      timeout: limitMs,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
  });
}
