import type { ServerContext } from '@modelcontextprotocol/server';
import { beforeEach, expect, it } from '@jest/globals';
import { createAskableOf } from '../../../apps/gateway/sessions/askable.ts';
import type { SessionView } from '../../../apps/gateway/wire/request-context.ts';
import type { ClientAnswer } from '../../../workflows/domain/upstream-ports.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const ANSWER_MS = 300_000;
const QUESTION = { method: 'elicitation/create', params: { message: 'Who are you?' } };
const NEVER = new AbortController().signal;

let clock: ManualClock;
/** The client's answer to the question that was sent. */
let reply: (answer: object) => void;
let takenBack: AbortSignal;
beforeEach(() => {
  clock = new ManualClock();
});

function ask({ tokenMs = 10 * ANSWER_MS } = {}): Promise<ClientAnswer | undefined> {
  const session = {
    ...{ key: 'session', revision: '2025-11-25', capabilities: { elicitation: { form: {} } } },
    closing: NEVER,
    enterQuestion: () => () => undefined,
  } as Partial<SessionView> as SessionView;
  const send = (_request: object, _schema: object, { signal }: { signal: AbortSignal }) => {
    takenBack = signal;
    return new Promise((resolve, reject) => {
      reply = resolve;
      signal.addEventListener('abort', () => reject(new Error('taken back')));
    });
  };
  const expiresAt = (clock.now() + tokenMs) / 1_000;
  const ctx = { mcpReq: { signal: NEVER, send }, http: { authInfo: { expiresAt } } } as unknown as ServerContext;
  const context = { caller: { issuer: 'https://idp.test', subject: 'alice' }, session };
  const askable = createAskableOf({ clock, answerMs: ANSWER_MS })({ context, ctx });
  return askable?.ask(QUESTION, NEVER) ?? Promise.resolve(undefined);
}

it('a question is open for as long as the operator says, and is then taken back', async () => {
  let answer: ClientAnswer | undefined;
  void ask().then((end) => (answer = end));
  await clock.advance(ANSWER_MS - 1);
  expect([answer, takenBack.aborted]).toEqual([undefined, false]);
  await clock.advance(1);
  expect([answer, takenBack.aborted]).toEqual([{ kind: 'none', why: 'The client did not answer.' }, true]);
  expect(clock.waiting).toBe(0);
});

it('an answer in time counts, and leaves no timer', async () => {
  const asked = ask();
  await clock.advance(ANSWER_MS - 1);
  reply({ action: 'decline' });
  expect(await asked).toEqual({ kind: 'result', result: { action: 'decline' } });
  expect(clock.waiting).toBe(0);
});

it('an answer does not count once the token of the request has expired', async () => {
  const asked = ask({ tokenMs: 60_000 });
  await clock.advance(60_000);
  reply({ action: 'accept' });
  expect(await asked).toMatchObject({ kind: 'none', why: expect.stringMatching(/token expired/) });
});
