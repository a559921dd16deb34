import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { beginSignIn } from '../../../support/signing-in.ts';
import { BY_BROWSER } from './by-browser.ts';
import { BY_PROGRAM, type Way } from './by-program.ts';
import { Scene } from './scene.ts';

const WAYS: readonly (readonly [string, Way])[] = [...Object.entries(BY_PROGRAM), ...Object.entries(BY_BROWSER)];
const LEAST_WAYS = 40;

describe('an agent whose person may confirm its call', () => {
  const scene = new Scene();
  beforeAll(() => scene.start());
  afterAll(() => scene.stop());

  it('has at least forty ways to try', () => {
    expect(new Set(WAYS.map(([name]) => name)).size).toBeGreaterThanOrEqual(LEAST_WAYS);
  });

  it.each(WAYS)('cannot confirm it with %s', async (_name, way) => {
    const held = await scene.hold();
    const statuses = await way(scene, held);
    expect(statuses.length).toBeGreaterThan(0);
    for (const status of statuses) expect(status).toBeGreaterThanOrEqual(400);
    expect(await scene.outcome(held)).toEqual({ status: 'pending', votes: 0 });
    // Nothing but the way is at fault: the person can still confirm.
    const { site } = await scene.enter('alice');
    expect(await scene.vote(site, held)).toBe(303);
    expect(await scene.outcome(held)).toEqual({ status: 'approved', votes: 1 });
  });

  it('waits for its person, who signs in again and confirms', async () => {
    const held = await scene.hold();
    const { site, atIssuer } = await scene.stale();
    const page = async () => (await site.go(`/requests/${held.id}`)).text();
    expect(await page()).toContain(`href="/sign-in?returnTo=%2Frequests%2F${held.id}&amp;fresh=1"`);
    expect(await page()).not.toContain('Confirm and run');
    await site.go(await beginSignIn({ site, atIssuer, name: 'alice', fresh: true }));
    expect(await page()).toContain('Confirm and run');
    expect(await scene.vote(site, held, { reason: 'I asked for it.' })).toBe(303);
    expect(await page()).toMatch(/You confirmed this.*alice.*\(the requester\).*approved/s);
  });
});
