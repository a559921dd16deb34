import { beforeEach, describe, expect, it } from '@jest/globals';
import { aView, REQUEST_REF, requestable } from '../../support/gateway-world.ts';
import { textOf, transfer } from '../../support/gateway-wire.ts';
import { isAnswer, patientHosts, wordsOf } from '../../support/patient-hosts.ts';
import { beginSession, type Message, type WireSession } from '../../support/session-wire.ts';
import { waitFor } from '../../support/wait-for.ts';

const { gateway, world, clock, end, waits } = patientHosts();
beforeEach(() => {
  gateway.reset();
  world.decision = requestable();
  world.view = aView({ approvalPage: PAGE });
  // A stream ends with its token, and these tests let minutes pass.
  world.tokenSeconds = 36_000;
});

const PAGE = 'https://approvals.test/requests/1';
const isQuestion = ({ id, method }: Message) => id !== undefined && method !== undefined;
const isComplete = ({ method }: Message) => method === 'notifications/elicitation/complete';
/** How many questions about a page were answered. */
const answered = () => gateway.logged.filter((line) => line.includes('the client answered')).length;
const begin = (capabilities: object = { elicitation: { url: {} } }, more = {}) =>
  beginSession(gateway, { name: 'patient-host', capabilities, ...more });
/** A call that waits, and what its client was asked. */
async function asked(session: WireSession) {
  const stream = await session.start('tools/call', transfer(), 'c-1');
  const question = await stream.next(isQuestion);
  await waits(1);
  return { stream, question };
}
/** Ends the wait of a call, and with it the watch that was left of it. */
async function settle() {
  end();
  await waits(0);
}

describe('a held call of a session whose client opens addresses', () => {
  it.each([
    ['accept', { action: 'accept' }],
    ['decline', { action: 'decline' }],
    ['cancel', { action: 'cancel' }],
    ['a claim that it is approved', { action: 'accept', content: { approved: true, verdict: 'approve' } }],
  ])('asks to open the page while it waits, and the answer decides nothing: %s [DENIAL-020]', async (_case, answer) => {
    const session = await begin();
    const { stream, question } = await asked(session);
    const { elicitationId, ...params } = question.params ?? {};
    expect(question.method).toBe('elicitation/create');
    expect(params).toEqual({
      mode: 'url',
      url: PAGE,
      message: expect.stringMatching(/Your answer here decides nothing\.$/),
    });
    expect((await session.answer(question, answer)).status).toBe(202);
    await waitFor(() => answered() === 1);
    expect([world.openings.length, world.taskListeners.size, stream.messages().some(isAnswer)]).toEqual([1, 1, false]);
    end();
    expect(await wordsOf(stream)).toMatch(/^booked\nThe tool ran once/);
    await stream.ended;
    const [asking, ...after] = stream.messages().filter(({ method }) => method !== 'notifications/progress');
    expect([asking, after.map(({ method }) => method)]).toEqual([
      question,
      ['notifications/elicitation/complete', undefined],
    ]);
    expect(after[0]?.params).toEqual({ elicitationId });
    expect([world.openings.length, world.cancelled, world.invocations]).toEqual([1, [], []]);
  });

  it('takes an answer from its own session only', async () => {
    const session = await begin();
    const { stream, question } = await asked(session);
    for (const token of ['token-of-alice', 'token-of-mallory']) {
      const other = await begin(undefined, { token });
      expect((await other.answer(question, { action: 'accept' })).status).toBe(202);
    }
    await session.answer(question, { action: 'cancel' });
    await waitFor(() => answered() === 1);
    await settle();
    await stream.ended;
    expect(answered()).toBe(1);
  });

  it('that no person decides in time takes the question back, and tells of the end on the stream of the session', async () => {
    const session = await begin();
    const general = await session.listen();
    const { stream, question } = await asked(session);
    await clock.advance(240_000);
    expect(await wordsOf(stream)).toMatch(new RegExp(`has not run.*${PAGE}.*get_request_status.*${REQUEST_REF}`));
    await stream.ended;
    const takenBack = stream.messages().filter(({ method }) => method === 'notifications/cancelled');
    expect(takenBack.map(({ params }) => params?.['requestId'])).toEqual([question.id]);
    // A second call joins the held one, and asks nothing.
    const again = await session.start('tools/call', transfer(), 'c-2');
    await waits(2);
    world.told.length = 0;
    end();
    expect(await wordsOf(again)).toMatch(/^booked/);
    expect(again.messages().filter((message) => isQuestion(message) || isComplete(message))).toEqual([]);
    const complete = await general.next(isComplete);
    expect(complete.params).toEqual({ elicitationId: question.params?.['elicitationId'] });
    await waits(0);
    general.leave();
  });

  it('is not noted as told by the notice of its end', async () => {
    const session = await begin();
    const general = await session.listen();
    const { stream } = await asked(session);
    await clock.advance(240_000);
    await stream.ended;
    await waits(1);
    world.told.length = 0;
    end(aView({ state: 'denied', reason: 'resolution_denied' }));
    await general.next(isComplete);
    expect(world.told).toEqual([]);
    general.leave();
  });

  it('asks once, although its client asks for the status', async () => {
    const session = await begin();
    const stream = await session.start('tools/call', {
      name: 'get_request_status',
      arguments: { reference: REQUEST_REF },
    });
    await waits(1);
    await settle();
    expect(await wordsOf(stream)).toMatch(/^booked/);
    expect(stream.messages().filter(isQuestion)).toEqual([]);
  });

  it('asks nothing where the host does not wait, and names the page in words', async () => {
    const session = await beginSession(gateway, { name: 'hasty', capabilities: { elicitation: { url: {} } } });
    const { result } = await session.ask('tools/call', transfer());
    expect(textOf(result)).toContain(PAGE);
  });

  it.each<[string, object, object]>([
    ['shows forms alone', { elicitation: { form: {} } }, {}],
    ['speaks a revision without addresses', { elicitation: { url: {} } }, { revision: '2025-06-18' }],
  ])('asks nothing of a client that %s', async (_case, capabilities, more) => {
    const session = await begin(capabilities, more);
    const stream = await session.start('tools/call', transfer());
    await waits(1);
    await settle();
    expect(await wordsOf(stream)).toMatch(/^booked/);
    expect(stream.messages().filter(isQuestion)).toEqual([]);
  });

  it('forgets the question when its client cancels the call, which stays open', async () => {
    const session = await begin();
    const { stream } = await asked(session);
    await session.notify('notifications/cancelled', { requestId: 'c-1' });
    await stream.ended;
    // Its end is watched for, because the client may have opened the page.
    await waits(1);
    expect(world.cancelled).toEqual([]);
    await session.end();
    await waits(0);
  });
});
