import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules of accessibility that a page breaks, each with the elements. @see https://github.com/dequelabs/axe-core */
export async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: rules } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await rules.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}
