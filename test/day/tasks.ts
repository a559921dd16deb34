import type { Day } from './requests.ts';
import { KIND, SOUGHT } from './requests.ts';
import type { Person, Taken } from './person.ts';

/** The tasks of a day, each from the list of what is hers to decide. */
export interface DayFigures {
  readonly 'approve one': Taken;
  readonly 'deny one with a reason': Taken;
  readonly 'approve ten alike, not the odd one': Taken;
  readonly 'find one by a value in its arguments': Taken;
}

const LIST = '/requests?status=yours';

/** Does the work of a day, and answers what each task took. */
export async function workThrough(person: Person, url: string): Promise<DayFigures> {
  const task = async (act: (one: Person) => Promise<void>): Promise<Taken> => {
    await person.page.goto(new URL(LIST, url).href);
    return person.measure(() => act(person));
  };
  return {
    'approve one': await task(approveFirst),
    'deny one with a reason': await task(denyFirst),
    'approve ten alike, not the odd one': await task(approveAlike),
    'find one by a value in its arguments': await task(findOne),
  };
}

/** A decision can be pressed after the whole call was on screen for a moment. */
const ready = (person: Person, verdict: 'approve' | 'deny') =>
  person.page.locator(`button[value="${verdict}"]:not([disabled])`).waitFor();

async function openFirst(person: Person): Promise<void> {
  const { page } = person;
  if (person.hasKeyboard) {
    await person.key('j');
    await person.key('o');
  } else await person.tap(page.locator('.row-title').first());
  await page.getByRole('heading', { name: 'Your decision' }).waitFor();
}

/** The key of a decision first shows the rest of the call. */
async function readOn(person: Person, key: 'a' | 'd'): Promise<void> {
  const isUnread = () => person.page.locator('[data-unread]:visible').count();
  while (key === 'a' && (await isUnread()) > 0) await person.key(key);
}

async function press(person: Person, verdict: 'approve' | 'deny'): Promise<void> {
  const button = person.page.locator(`button[value="${verdict}"]`);
  if (person.hasKeyboard) {
    const key = verdict === 'approve' ? 'a' : 'd';
    await readOn(person, key);
    await ready(person, verdict);
    await person.key(key);
    if (await person.page.locator('[data-again]:visible').count()) await person.key('a');
  } else {
    await button.scrollIntoViewIfNeeded();
    while (verdict === 'approve' && (await person.page.locator('[data-unread]:visible').count()) > 0)
      await person.swipe(person.page.locator('.json').first());
    await button.scrollIntoViewIfNeeded();
    await ready(person, verdict);
    await person.tap(button);
  }
  await person.answered();
}

async function approveFirst(person: Person): Promise<void> {
  await openFirst(person);
  await press(person, 'approve');
  await person.page.getByText('You approved this').waitFor();
}

async function denyFirst(person: Person): Promise<void> {
  await openFirst(person);
  const reason = person.page.getByLabel('Reason', { exact: true });
  if (person.hasKeyboard) await person.key('r');
  else await person.tap(reason);
  await person.type('Not in the change window');
  if (person.hasKeyboard) await person.key('Escape');
  await press(person, 'deny');
  await person.page.getByText('You denied this').waitFor();
}

async function approveAlike(person: Person): Promise<void> {
  const { page } = person;
  const usual = page.getByRole('link', { name: 'all that do not stand out' });
  if (person.hasKeyboard) {
    await person.key('/');
    await person.type(KIND.tool);
    await person.key('Enter');
    await page.waitForURL(/q=/);
    await person.key('j');
    await person.key('m');
    await usual.waitFor();
    await person.key('s');
    await page.waitForURL(/select=usual/);
    await person.key('b');
  } else {
    // One row of the list has all of the kind.
    await person.tap(
      page
        .locator('[data-request]')
        .filter({ hasText: KIND.tool })
        .getByRole('link', { name: /more like this/ }),
    );
    await person.tap(usual);
    await page.waitForURL(/select=usual/);
    await person.tap(page.getByRole('button', { name: 'Decide together' }));
  }
  await page.getByRole('heading', { name: `Decide ${KIND.alike} requests` }).waitFor();
  await page.locator('button.approve').scrollIntoViewIfNeeded();
  await press(person, 'approve');
  await page.getByRole('heading', { name: `You approved ${KIND.alike} requests` }).waitFor();
}

async function findOne(person: Person): Promise<void> {
  const { page } = person;
  if (person.hasKeyboard) await person.key('/');
  else await person.tap(page.getByLabel('Search'));
  await person.type(SOUGHT);
  await person.key('Enter');
  await page.waitForURL(/q=/);
  if (person.hasKeyboard) {
    await person.key('j');
    await person.key('o');
  } else await person.tap(page.locator('.row-title').first());
  await page.getByRole('heading', { name: 'What will run' }).waitFor();
  await page.getByText(SOUGHT).first().waitFor();
}

/** What the database has to hold after the day: who got a vote, and who got none. */
export const expectedVotes = ({ approve, deny, alike }: Day): Readonly<Record<string, 'approve' | 'deny'>> => ({
  [approve]: 'approve',
  [deny]: 'deny',
  ...Object.fromEntries(alike.map((id) => [id, 'approve'] as const)),
});
