import type { Locator, Page } from 'playwright-core';
import { SOURCE } from './control-sources.ts';
import type { Control } from './controls.ts';
import { waitFor } from './wait-for.ts';

const DAY_MS = 86_400_000;

/** Values for fields that take no other text, by their names. */
export type Texts = Readonly<Record<string, string>>;

export const elementOf = (page: Page, { source, at }: Control): Locator =>
  page.locator(`[${SOURCE}="${source}"]`).nth(at);

/** Uses a control as a person does. Throws when it has no effect, or cannot be used. */
export async function press(page: Page, control: Control, texts: Texts): Promise<void> {
  const element = elementOf(page, control);
  if (control.tag !== 'form') await reveal(element);
  switch (control.tag) {
    case 'a':
      return follow(page, element);
    case 'button':
      return (await staysHere(element)) ? useDialog(page, element) : submit(page, element, texts);
    case 'summary': {
      const details = element.locator('xpath=..');
      const before = await details.getAttribute('open');
      await element.click();
      await waitFor(async () => (await details.getAttribute('open')) !== before);
      return;
    }
    case 'form': {
      const { buttons, isOwn } = await element.evaluate((form: HTMLFormElement) => ({
        buttons: form.querySelectorAll('button:not([type=button]), a.button').length,
        isOwn: new URL(form.action).origin === location.origin,
      }));
      if (buttons === 0 || !isOwn) throw new Error('the form leads nowhere');
      return;
    }
    case 'input':
    case 'select':
    case 'textarea':
      await fill(element, texts, { isAlone: true });
      if ((await page.locator('dialog[open]').count()) > 0) await page.keyboard.press('Escape');
      return;
  }
}

/** Whether a button opens or closes a dialog, and sends no form. */
const staysHere = (button: Locator): Promise<boolean> =>
  button.evaluate((one: HTMLButtonElement) => one.type === 'button' || one.form?.method === 'dialog');

async function useDialog(page: Page, button: Locator): Promise<void> {
  const isOpen = async () => (await page.locator('dialog[open]').count()) > 0;
  const before = await isOpen();
  await button.click();
  await waitFor(async () => (await isOpen()) !== before);
  if (!before) await page.keyboard.press('Escape');
}

/** A person on the keyboard reaches it first, and that must bring it into sight. */
async function follow(page: Page, link: Locator): Promise<void> {
  await link.focus();
  const navigated = page.waitForEvent('framenavigated');
  await link.click();
  await navigated;
}

/**
 * Brings a link into sight as a person on the keyboard does, and answers the address to which a click on it leads. Throws when something
 * covers it. This takes a browser much less time than to load that page.
 */
export async function addressOf(link: Locator): Promise<string> {
  await reveal(link);
  await link.focus();
  const isInSight = () =>
    link.evaluate((one) => {
      one.scrollIntoView({ block: 'nearest' });
      const [box] = one.getClientRects();
      if (box === undefined || one !== document.activeElement) return false;
      const found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return found !== null && one.contains(found);
    });
  await waitFor(isInSight);
  return link.evaluate((one: HTMLAnchorElement) => one.href);
}

async function submit(page: Page, button: Locator, texts: Texts): Promise<void> {
  const form = button.locator('xpath=ancestor::form');
  const id = (await form.count()) > 0 ? await form.getAttribute('id') : null;
  const [box] = id === null ? [] : await page.locator(`input[type=checkbox][form="${id}"]`).all();
  await box?.check();
  await isReady(button, form);
  const required = form.locator(':is(input, textarea):not([type=hidden]):required');
  if ((await required.count()) > 0) {
    // Earlier input may be there again.
    for (const field of await required.all()) await field.fill('');
    await button.click();
    const isOnMissing = () => required.first().evaluate((field) => field === document.activeElement);
    await waitFor(isOnMissing);
  }
  // A folded field is pressed by itself.
  const fields = form
    .locator(':is(input, textarea, select):not([type=hidden]):not([readonly])')
    .filter({ visible: true });
  for (const field of await fields.all()) await fill(field, texts, { isAlone: false });
  await isReady(button, form);
  const answered = page.waitForResponse((response) => response.request().isNavigationRequest());
  const navigated = page.waitForEvent('framenavigated');
  await button.click();
  await navigated;
  // A page that redirects by itself has done so before the next action.
  const next = (await answered).headers()['refresh']?.replace(/^\d+; url=/, '');
  if (next !== undefined) await page.waitForURL(next);
}

async function fill(field: Locator, texts: Texts, { isAlone }: { isAlone: boolean }): Promise<void> {
  const { tag, type, name, readOnly, isNamed } = await field.evaluate((element: HTMLInputElement) => ({
    tag: element.tagName,
    type: element.type,
    name: element.name,
    readOnly: element.readOnly,
    isNamed: (element.labels?.length ?? 0) > 0,
  }));
  if (!isNamed) throw new Error('the field has no label');
  if (readOnly) {
    if ((await field.inputValue()) === '') throw new Error('there is nothing in it');
    return field.focus();
  }
  if (type === 'checkbox') {
    const before = await field.isChecked();
    await field.setChecked(!before);
    return;
  }
  if (tag === 'SELECT' && isAlone && (await actsAlone(field))) {
    const navigated = field.page().waitForEvent('framenavigated');
    await field.selectOption({ index: 1 });
    await navigated;
    return;
  }
  if (tag === 'SELECT') {
    const values = await field
      .locator('option')
      .evaluateAll((all: HTMLOptionElement[]) => all.map(({ value }) => value));
    for (const value of isAlone ? values : values.slice(0, 1)) await field.selectOption(value);
    return;
  }
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const text = type === 'date' ? tomorrow : (texts[name] ?? 'a text');
  await field.fill(text);
  if ((await field.inputValue()) !== text) throw new Error('it does not take what is typed');
}

/** Whether the script sends the form of a filter when one is chosen. Only the script shows the button for the keys. */
const actsAlone = (field: Locator): Promise<boolean> =>
  field.evaluate(
    (one: HTMLSelectElement) =>
      one.form?.hasAttribute('data-filters') === true &&
      document.querySelector('[data-opens-keys]:not([hidden])') !== null,
  );

/** Opens the element's folded container, or its dialog. */
async function reveal(element: Locator): Promise<void> {
  const { isInDialog, isFolded } = await element.evaluate((one) => ({
    isInDialog: one.closest('dialog:not([open])') !== null,
    isFolded: one.tagName !== 'SUMMARY' && one.closest('details:not([open])') !== null,
  }));
  if (isInDialog) await element.page().locator('[data-opens-keys]').click();
  if (isFolded) await element.locator('xpath=ancestor::details[not(@open)]/summary').click();
}

/** Brings the end of each part of a call on screen, for as long as a browser needs to notice. */
export async function readToTheEnd(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    for (const region of document.querySelectorAll('.json')) {
      region.scrollTop = region.scrollHeight;
      region.scrollIntoView({ block: 'end' });
      for (let frames = 0; frames < 3; frames += 1) await frame();
    }
  });
}

/**
 * A button can be pressed after a moment in sight, or names a required action, and can be pressed after it. A page that follows changes
 * can move the button out of sight meanwhile.
 */
export async function isReady(button: Locator, form: Locator): Promise<void> {
  const isEnabled = async () => {
    await button.scrollIntoViewIfNeeded();
    return button.isEnabled();
  };
  const hint = form.locator('[data-unread]:visible');
  await waitFor(async () => (await isEnabled()) || (await hint.count()) > 0);
  if (await button.isEnabled()) return;
  await readToTheEnd(form.page());
  await waitFor(isEnabled);
}
