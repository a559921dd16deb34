import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { configuredReasons } from '../../../apps/approvals/templates.ts';
import { parseConfig } from '../../../apps/shared/config/config.ts';
import { ApprovalsUnderTest } from '../../support/approvals.ts';

const stages = [{ name: 'one', approvers: { roles: ['approver'] } }];

describe('the form for a decision', () => {
  const service = new ApprovalsUnderTest();
  beforeAll(() =>
    service.start({
      approvals: { templates: { operator_approval: { stages, presetReasons: ['Change window', '<b>No ticket</b>'] } } },
    }),
  );
  afterAll(() => service.stop());

  it('offers the prepared reasons, and records the chosen one before what the approver wrote', async () => {
    const request = await service.open();
    const browser = await service.signIn('alice');
    const page = await (await browser.go(`/requests/${request.id}`)).text();
    expect(page).toContain('<option value="Change window">Change window</option>');
    expect(page).not.toContain('<b>No ticket</b>');
    const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const form = {
      ...{ csrfToken, verdict: 'deny', callDigest: request.callDigest, generation: '1', stage: '1' },
      ...{ presetReason: 'Change window', reason: 'until Monday', agentMessage: 'Try again on "Monday".' },
    };
    expect((await browser.go(`/requests/${request.id}/votes`, form)).status).toBe(303);
    const shown = await (await browser.go(`/requests/${request.id}`)).text();
    expect(shown).toMatch(/“<bdi[^>]*>Change window until Monday<\/bdi>”/);
    expect(shown).toMatch(/To the agent: “<bdi[^>]*>Try again on &quot;Monday&quot;\.<\/bdi>”/);
  });

  it.each([
    ['a message for the agent', { agentMessage: 'x'.repeat(501) }, 'one paragraph of at most 500 characters'],
    ['a prepared reason', { presetReason: 'x'.repeat(201) }, 'This is not a decision'],
  ])('refuses %s that is too long, and counts no vote', async (_what, typed, said) => {
    const request = await service.open();
    const browser = await service.signIn('alice');
    const page = await (await browser.go(`/requests/${request.id}`)).text();
    const csrfToken = /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const form = { csrfToken, verdict: 'deny', callDigest: request.callDigest, ...typed };
    const refused = await browser.go(`/requests/${request.id}/votes`, form);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(said)]);
    expect((await service.status(request.id)).body.task.status).toBe('pending');
  });
});

describe('the prepared reasons of a request', () => {
  const by = { people: ['alice'] };
  const config = parseConfig(
    {
      approvals: { templates: { money: { stages, presetReasons: ['a', 'b'] }, plain: { stages } } },
      rules: [{ name: 'writes', approve: '*', by: { ...by, presetReasons: ['b', 'c'] } }],
    },
    { baseDir: '/', stateDir: '/' },
  );

  it.each([
    ['its template', 'money', ['a', 'b']],
    ['its rule', 'writes', ['b', 'c']],
    ['both, if it must meet both', 'money + writes', ['a', 'b', 'c']],
    ['no template that has some', 'plain', []],
    ['no template at all', undefined, []],
    ['an unknown template', '__proto__', []],
  ])('are those of %s', (_case, template, reasons) => {
    expect(configuredReasons(config)(template)).toEqual(reasons);
  });
});
