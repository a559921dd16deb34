import type { Page } from 'playwright-core';
import { CONTROLS, SOURCE } from './control-sources.ts';

/** An element of a page that a person presses, opens or fills in. */
export interface Control {
  readonly tag: (typeof CONTROLS)[number];
  readonly source: string;
  /** The index among the elements that one place in the sources makes, from 0. */
  readonly at: number;
  readonly label: string;
  /** Whether it belongs to the frame that all pages have. */
  readonly isOfFrame: boolean;
  /** Whether the page stays after a press. */
  readonly staysHere: boolean;
  /** The target of a link, or the content of a button's form, without the parts that differ each time. */
  readonly content: string | undefined;
}

/** The controls in a browser: the first and the last of those that one place in the sources makes. */
export async function collect(page: Page): Promise<Control[]> {
  const all = await page.evaluate(
    ([tags, attribute]) => {
      // The script opens dialogs, and sends a filter when one is chosen. It shows the button for the keys.
      const hasScript = document.querySelector('[data-opens-keys]:not([hidden])') !== null;
      return Array.from(document.querySelectorAll<HTMLElement>(tags), (element) => ({
        tag: element.tagName.toLowerCase(),
        source: element.getAttribute(attribute) ?? '',
        isOfFrame: element.closest('main') === null,
        staysHere: !element.matches(hasScript ? 'a, button, form[data-filters] select' : 'a, button'),
        isForScript: element.closest('dialog, [data-opens-keys]') !== null,
        content: (element.getAttribute('href') ?? element.closest('form')?.outerHTML)?.replace(
          /(ar[qb]_|dlg_|grn_|out_|cursor=|Cursor=|uid=|value=")[\w:-]{9,}/g,
          '$1…',
        ),
        label: `${element.tagName.toLowerCase()} “${(element.innerText || element.getAttribute('name')) ?? ''}”`.slice(
          0,
          80,
        ),
      })).filter(({ isForScript }) => hasScript || !isForScript);
    },
    [CONTROLS.map((tag) => (tag === 'input' ? 'input:not([type=hidden])' : tag)).join(), SOURCE] as const,
  );
  const counts = new Map<string, number>();
  // A library writes the form with which the issuer ends its session. Its button is ours.
  const ours = all.filter(({ tag, source }) => tag !== 'form' || source !== '');
  const placed = ours.map((one) => {
    const at = counts.get(one.source) ?? 0;
    counts.set(one.source, at + 1);
    return { ...one, at } as Control;
  });
  return placed.filter(({ source, at }) => at === 0 || at === (counts.get(source) ?? 0) - 1);
}
