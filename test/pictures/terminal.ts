import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';

const WIDTH = 1280;
/** What a person sees of a program in a terminal, in text. */
const PAGE = `<style>
  body { margin: 0; padding: 24px; box-sizing: border-box; width: ${WIDTH}px; background: #fff; color: #1f2328 }
  pre { margin: 0; font: 16.5px/1.25 "DejaVu Sans Mono", monospace }
</style><pre></pre>`;

/** Draws each text of a folder as the picture of a terminal. Pictures go to `to`, as `<prefix><name>.png`. */
export async function drawTerminals(
  browser: Browser,
  { from, to, prefix }: { readonly from: string; readonly to: string; readonly prefix: string },
): Promise<void> {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 100 } });
  await page.setContent(PAGE);
  for (const file of readdirSync(from)) {
    const text = readFileSync(join(from, file), 'utf8').trimEnd();
    await page.locator('pre').evaluate((element, words) => (element.textContent = words), text);
    await page.locator('body').screenshot({ path: join(to, `${prefix}${file.replace(/\.txt$/, '')}.png`) });
  }
  await page.close();
}
