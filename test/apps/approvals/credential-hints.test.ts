import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';
import type { Browser } from '../../support/browser.ts';

describe('the page of a request', () => {
  const service = new ApprovalsUnderTest();
  let alice: Browser;
  beforeAll(async () => {
    await service.start();
    alice = await service.signIn('alice');
  });
  afterAll(() => service.stop());
  const text = async (browser: Browser, path: string) => (await browser.go(path)).text();

  it.each<[place: string, args: JsonObject]>([
    ['password', { password: 'hunter2' }],
    ['login.apiKey', { login: { apiKey: 'k' } }],
    ['all[1].access_token', { all: [{}, { access_token: 't' }] }],
    ['note', { note: 'use ghp_0123456789abcdefghij0123456789abcdef' }],
    ['header', { header: 'Bearer 0123456789abcdef0123' }],
    ['url', { url: 'https://me:hunter2@example.com/' }],
    ['file', { file: '-----BEGIN RSA PRIVATE KEY-----' }],
  ])('warns approvers of possible credentials in %s', async (place, args) => {
    const page = await text(alice, `/requests/${(await service.open({ arguments: args })).id}`);
    expect(page).toContain('This call may contain credentials');
    expect(page.split('This call may contain credentials')[1]).toContain(place);
  });

  it.each<JsonObject>([
    { max_tokens: 4_096, path: '/srv/a', note: 'the secretary reads the passage' },
    { password: '' },
    {},
  ])('does not warn of credentials where it finds no sign of them: %j', async (args) => {
    const page = await text(alice, `/requests/${(await service.open({ arguments: args })).id}`);
    expect(page).not.toContain('This call may contain credentials');
  });
});
