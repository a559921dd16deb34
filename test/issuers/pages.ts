/** Steps of people in a browser: decide, read a record, sign out, lose a role. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { isReady } from '../support/press.ts';
import { waitFor } from '../support/wait-for.ts';
import { type HeldCall, hold, ranOnce, statusOf } from './calls.ts';
import { openAs, type Scene } from './scene.ts';
import type { Step } from './step.ts';

export const LIST = '/requests?status=pending';

const textOf = (page: Page) => page.locator('main').innerText();
const approveButton = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true });

/** Finds the request of this call in the inbox, and opens it. */
export async function openRequest(page: Page, inbox: string, { path }: Pick<HeldCall, 'path'>): Promise<void> {
  await page.goto(`${inbox}${LIST}`);
  const links = await page
    .locator('main a[href^="/requests/"]')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  for (const link of links) {
    await page.goto(`${inbox}${link}`);
    if ((await textOf(page)).includes(path)) return;
  }
  throw new Error('the inbox does not list the request');
}

/** The button can be pressed after the whole call was in sight. */
async function pressApprove(page: Page): Promise<void> {
  await isReady(approveButton(page), page.locator('form.decision'));
  await approveButton(page).click();
}

export async function approve(page: Page): Promise<void> {
  await pressApprove(page);
  await page.getByText('You approved').first().waitFor();
}

export const peopleDecide: Step = {
  name: 'an approver decides in the inbox, the requester cannot, and an auditor reads who did',
  async run(scene, { ofAgent, ofPerson }) {
    assert.ok(ofAgent && ofPerson);
    const { approvals, audit } = scene.stack.config.urls;
    const alice = await openAs(scene, 'alice', `${approvals}${LIST}`);
    await openRequest(alice, approvals, ofAgent);
    await approve(alice);
    await ranOnce(scene, ofAgent);

    const bob = await openAs(scene, 'bob', `${approvals}${LIST}`);
    await openRequest(bob, approvals, ofPerson);
    assert.match(await textOf(bob), /You cannot decide this request[.]\n+You or your agent requested this/);
    assert.equal(await approveButton(bob).count(), 0);
    assert.equal(await statusOf(scene, ofPerson), 'working');
    await openRequest(alice, approvals, ofPerson);
    await approve(alice);
    await ranOnce(scene, ofPerson);

    const olivia = await openAs(scene, 'olivia', `${audit}/`);
    for (const [{ taskId }, client] of [[ofAgent, 'agent'] as const, [ofPerson, 'countersign-host'] as const]) {
      await olivia.goto(`${audit}/outcome-records/by-task/${taskId}`);
      const record = await textOf(olivia);
      assert.match(record, /The tool ran once/);
      assert.match(record, /Alice Example/);
      assert.ok(record.includes(client), `the record does not name ${client}`);
    }
    for (const page of [alice, bob, olivia]) await page.context().close();
  },
};

export const signOut: Step = {
  name: 'a sign-out at the inbox ends the session at Keycloak and, by its notice, at the auditors’ pages',
  async run(scene) {
    const { approvals, audit } = scene.stack.config.urls;
    const page = await openAs(scene, 'carol', `${approvals}${LIST}`);
    // The same browser needs no second sign-in.
    await page.goto(`${audit}/`);
    assert.equal(new URL(page.url()).origin, audit);
    assert.equal((await sessionsAtKeycloak(scene)).length, 1);
    assert.equal(await sessionsHere(scene, 'audit'), 1);
    await page.goto(`${approvals}${LIST}`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${approvals}/signed-out**`);
    assert.deepEqual(await sessionsAtKeycloak(scene), []);
    // Not the next question to the issuer but its notice ends the session: nothing asks before.
    await waitFor(async () => (await sessionsHere(scene, 'audit')) === 0);
    assert.match(log(scene), /the identity provider ended the sessions of a person/);
    assert.equal(await sessionsHere(scene, 'approvals'), 0);
    await page.goto(`${audit}/`);
    await page.locator('#kc-form-login').waitFor();
    await page.context().close();
  },
};

const sessionsAtKeycloak = ({ keycloak, ids }: Scene) =>
  keycloak.admin<unknown[]>('GET', `/users/${ids.carol}/sessions`);

async function sessionsHere({ stack, ids }: Scene, schema: 'approvals' | 'audit'): Promise<number> {
  const text = `SELECT 1 FROM ${schema}.session WHERE sess->'person'->>'subject' = $1`;
  return (await (await stack.database()).query(text, [ids.carol])).rowCount ?? 0;
}

const log = ({ stack }: Scene) => readFileSync(join(stack.stateDir, 'logs', 'countersign.log'), 'utf8');

export const roleTakenAway: Step = {
  name: 'a role that is taken away at Keycloak ends reading and deciding in an open page',
  async run(scene) {
    const { keycloak, ids, stack } = scene;
    const { approvals } = stack.config.urls;
    const call = await hold(scene, await scene.agentToken());
    const page = await openAs(scene, 'alice', `${approvals}${LIST}`);
    await openRequest(page, approvals, call);
    await keycloak.setRoles('DELETE', ids.alice, ['approver']);
    const second = await page.context().newPage();
    await waitFor(async () => (await second.goto(`${approvals}${LIST}`))?.status() === 403);
    await pressApprove(page);
    await page.getByText('You are not an approver').waitFor();
    assert.equal(await statusOf(scene, call), 'working');
    await keycloak.setRoles('POST', ids.alice, ['approver']);
    await waitFor(async () => (await second.goto(`${approvals}${LIST}`))?.status() === 200);
    await openRequest(page, approvals, call);
    await approve(page);
    await ranOnce(scene, call);
    await page.context().close();
  },
};
