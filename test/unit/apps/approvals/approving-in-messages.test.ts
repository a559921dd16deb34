// cspell:disable -- letters that look like others
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mailOf } from '../../../../apps/approvals/channels/email.tsx';
import { messageAbout } from '../../../../apps/approvals/channels/message.ts';
import { noticeOf } from '../../../../apps/approvals/channels/push.ts';
import { blocksOf } from '../../../../apps/approvals/channels/slack.ts';
import { cardOf } from '../../../../apps/approvals/channels/teams.ts';
import { concealmentIn } from '../../../../apps/approvals/shown-whole.ts';
import { sha256 } from '../../../../apps/shared/crypto.ts';
import { EMPTY_DIRECTORY } from '../../../../apps/shared/directory/directory.ts';
import type { AccessRequest } from '../../../../workflows/domain/access-request/access-request.ts';
import { outlineOf } from '../../../../workflows/domain/access-request/outline.ts';
import { canonicalJson, type JsonObject } from '../../../../workflows/domain/canonical-json.ts';
import { aStage } from '../../../support/access-requests.ts';

const NAMES = ['service', 'version', 'hooks', 'replicas', 'a b'];
/** Characters that a page marks. */
const MISLEADING = /[\u202e\u200b\u0430]|\\u0001| {12}/;
const value = fc.oneof(
  fc.constantFrom('v5', 'checkout', '5 µm', 'a  b', 'x\ny', 'x'.repeat(280), 'x'.repeat(320), 'x'.repeat(600)),
  fc.constantFrom('a\u202eb', 'a\u200bb', 'p\u0430y', '\u0001', `a${' '.repeat(12)}b`, 'https://evil.example/'),
  fc.constantFrom(0, true, null, {}, [], { postDeploy: 'curl | sh' }, { [`p\u0430y`]: 1 }, [[1], { a: ['b'] }]),
  fc.constantFrom(Array(60).fill(1), ''),
);
const args = fc.dictionary(fc.constantFrom(...NAMES, 'x'.repeat(210), 'toString'), value, {
  maxKeys: 4,
  noNullPrototype: true,
});

const requestFor = (of: JsonObject | undefined, more: object = {}) =>
  ({
    ...{ id: 'arq_1', status: 'pending', stage: 1, generation: 1, callDigest: 'sha-256:0', tool: 'ops__deploy' },
    ...{ votes: [], answers: [], expiresAt: '2027-01-01T00:00:00Z', requester: { subject: 'agent' }, parties: [] },
    stages: [aStage({ approvers: { people: ['alice'] }, chatDecisions: true })],
    context: canonicalJson(of === undefined ? {} : { arguments: of }),
    ...(of && { outline: outlineOf(of, sha256) }),
    ...more,
  }) as unknown as AccessRequest;
const messageFor = (request: AccessRequest, shownArguments: readonly string[]) =>
  messageAbout(
    request,
    { person: 'alice', isAsked: true, hasVote: true, mayAnswer: false, reminders: 0 },
    {
      ...{ people: EMPTY_DIRECTORY, shownArguments, summaries: () => 'Deploy {service} {version}' },
      ...{ inboxUrl: 'https://inbox.example', timeZone: 'UTC' },
    },
  );
const seal = async (_ballot: unknown, _person: string, verdict: string) => `sealed ${verdict}`;

/** What a person reads in each channel, a line at a time, and the buttons that decide there. */
async function views(request: AccessRequest, shown: readonly string[]) {
  const message = messageFor(request, shown);
  const blocks = await blocksOf(message, 'alice', seal);
  const slackTexts = blocks.flatMap((block) => (block.type === 'section' ? [block.text?.text ?? ''] : []));
  const buttons = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
  const isDeciding = (text: string) => /approve|deny/i.test(text);
  const card = cardOf(message);
  const mail = mailOf(message);
  return {
    slack: {
      lines: slackTexts,
      decides: buttons.flatMap((one) =>
        one.type === 'button' && isDeciding(one.action_id ?? '') ? [String(one.text.text)] : [],
      ),
    },
    teams: {
      lines: card.body.map(({ inlines }) => inlines.map(({ text }) => text).join('')),
      decides: card.actions
        .map(({ type, title }) => `${type} ${title}`)
        .filter((one) => !/^Action.OpenUrl Open/.test(one)),
    },
    mail: { lines: mail.text.split('\n'), decides: mail.html.match(/<(form|button|input)/g) ?? [] },
    push: {
      lines: Object.values(noticeOf(message)).map(String),
      decides: Object.keys(noticeOf(message)).filter(isDeciding),
    },
  };
}

/** Whether each argument's whole value can be read back from lines of the form `name: value`. */
function canReadBack(of: JsonObject, lines: readonly string[]): boolean {
  return Object.entries(of).every(([name, whole]) =>
    lines.some((line) => {
      if (!line.startsWith(`${name}: `)) return false;
      try {
        return canonicalJson(JSON.parse(line.slice(name.length + 2))) === canonicalJson(whole);
      } catch {
        return false;
      }
    }),
  );
}

const FITS_IN_AN_OUTLINE = 40;
const countOf = (of: unknown): number =>
  typeof of === 'object' && of !== null
    ? Math.max(
        1,
        Object.values(of).reduce((sum: number, one) => sum + countOf(one), 0),
      )
    : 1;

describe('a message about a call', () => {
  it('lets people approve there exactly if each argument can be read back from it whole, and none misleads', async () => {
    let approvable = 0;
    await fc.assert(
      fc.asyncProperty(args, fc.subarray(NAMES), async (of, shown) => {
        const { slack, ...others } = await views(requestFor(of), shown);
        const isWhole = canReadBack(of, slack.lines) && countOf(of) <= FITS_IN_AN_OUTLINE;
        const mayApprove = isWhole && !MISLEADING.test(JSON.stringify(of));
        expect(slack.decides).toEqual(mayApprove ? ['Approve', 'Deny'] : ['Deny']);
        for (const { decides } of Object.values(others)) expect(decides).toEqual([]);
        approvable += mayApprove ? 1 : 0;
      }),
      { numRuns: 800 },
    );
    expect(approvable).toBeGreaterThan(50);
  });

  it('shows in each channel with room for them the same arguments, or says which it leaves out', async () => {
    await fc.assert(
      fc.asyncProperty(args, fc.subarray(NAMES), async (of, shown) => {
        const { slack, teams, mail } = await views(requestFor(of), shown);
        for (const { lines } of [slack, teams, mail]) {
          const said = lines.filter((line) => / (is|are) not shown/.test(line)).join(' ');
          for (const [name, whole] of Object.entries(of)) {
            const isShown = canReadBack({ [name]: whole }, lines);
            expect([name, isShown || said.includes(name.slice(0, 50))]).toEqual([name, true]);
          }
          if (canReadBack(of, lines)) expect(said).toBe('');
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    [
      { service: 'checkout', version: 'v5', hooks: { postDeploy: 'curl' }, replicas: 0 },
      ['service', 'version'],
      '2 more arguments are not shown: hooks, replicas.',
    ],
    [{ service: 'x'.repeat(301) }, ['service'], '1 argument is not shown to the end: service.'],
    [
      { service: 'a', 'see https://evil.example': 1 },
      [],
      String.raw`2 arguments are not shown: "see https:\/\/evil.example", service.`,
    ],
    [{ service: 'a\u202eb' }, ['service'], 'An argument has characters that can mislead.'],
    [{ service: Array(60).fill(1) }, ['service'], 'The call has more values than a message can show.'],
    [
      Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`a${at}`, at])),
      [],
      '10 arguments are not shown: a0, a1, a2, a3, a4, a5, a6, a7, and 2 others.',
    ],
  ] as [JsonObject, string[], string][])('says of %j with %j shown: %s', async (of, shown, said) => {
    const { slack, teams, mail } = await views(requestFor(of), shown);
    for (const { lines } of [slack, teams, mail]) expect(lines).toContain(said);
    expect(slack.lines).toContain('To approve it, open the request.');
  });

  it('lets no person approve there a request that is no tool call', async () => {
    expect((await views(requestFor(undefined), ['service'])).slack.decides).toEqual(['Deny']);
  });

  it('says in the dialog of a button that the message shows everything, and no value that it cuts unseen', async () => {
    const message = messageFor(requestFor({ service: 'x'.repeat(290), version: 'y'.repeat(290) }), [
      'service',
      'version',
    ]);
    const blocks = await blocksOf({ ...message, sentence: 'z'.repeat(400) }, 'alice', seal);
    const [approve] = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
    const text = approve?.type === 'button' ? approve.confirm?.text.text : undefined;
    expect(text).toMatch(/^z+…\nThe message shows all arguments of the call\.$/);
    expect(text?.length).toBeLessThanOrEqual(300);
  });
});

describe('the table of requests that are decided together', () => {
  it('takes its rule from the function that messages ask', () => {
    expect(concealmentIn(outlineOf({ text: 'x'.repeat(600) }, sha256))).toBe('too_long');
    expect(concealmentIn(outlineOf({ text: 'a\u202eb' }, sha256))).toBe('misleads');
    expect(concealmentIn(undefined)).toBe('no_call');
    expect(concealmentIn(outlineOf({ text: 'a' }, sha256), () => false)).toBe('left_out');
    expect(concealmentIn(outlineOf({ text: 'a', n: [1, {}] }, sha256))).toBeUndefined();
  });
});
