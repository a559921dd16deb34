import { ApplicationFailure } from '@temporalio/activity';
import type { EndReason } from '../../workflows/domain/gated-call/gated-call.ts';
import { CountersignError } from '../../workflows/domain/errors.ts';
import { anApproval } from '../support/gated-calls.ts';
import type { Says, WorldCall } from '../support/engine-world.ts';
import { callAt, goOn, STAGES, type Stage } from '../support/engine-stages.ts';
import type { Engine } from '../support/engine.ts';
import { waitFor } from '../support/wait-for.ts';

/** Leads one call along one path through the workflow, and answers the call when its path is complete. */
export type Path = (engine: Engine) => Promise<WorldCall>;

const signal = (engine: Engine, { gatedCallId }: WorldCall) => engine.workflows.signal(gatedCallId);
const over = async (engine: Engine, call: WorldCall): Promise<WorldCall> => {
  await engine.world.ended(call);
  await engine.closed(call);
  return call;
};
/** Gives this resolution before the first step, and signals the workflow. */
const told =
  (says: Partial<Says>, isApproved = true): Path =>
  async (engine) => {
    const call = await engine.world.hold();
    if (isApproved) engine.world.approve(call);
    engine.world.say(call, says);
    await signal(engine, call);
    return over(engine, call);
  };
/** Brings the call to a stage, does something to it, lets everything go well, and signals it. */
const at =
  (stage: Stage, act: (engine: Engine, call: WorldCall) => Promise<unknown>, isSignalled = true): Path =>
  async (engine) => {
    const call = await callAt(stage, engine);
    await act(engine, call);
    goOn(engine, [call]);
    if (isSignalled) await signal(engine, call);
    return over(engine, call);
  };
const cancelled = (engine: Engine, { gatedCallId }: WorldCall) => engine.world.fixture.calls.cancel(gatedCallId);
const overdue =
  (column: string) =>
  async (engine: Engine, { gatedCallId }: WorldCall) => {
    await engine.db.pool.query(`UPDATE gateway.gated_call SET ${column} = clock_timestamp() WHERE id = $1`, [
      gatedCallId,
    ]);
  };
const ended =
  (reason: EndReason) =>
  (engine: Engine, { gatedCallId }: WorldCall) =>
    engine.world.fixture.lifecycle.end(gatedCallId, 'denied', reason, 'test');
const nothing = async () => undefined;
const readsAgain = async ({ world }: Engine, act: () => Promise<unknown>) => {
  const before = world.counts.reads;
  await act();
  await waitFor(() => world.counts.reads > before);
};
const signals = (count: number) => async (engine: Engine, call: WorldCall) => {
  for (let index = 0; index < count; index += 1) await readsAgain(engine, () => signal(engine, call));
};
const reset = async ({ client, handle }: Engine, call: WorldCall) => {
  const { events } = await handle(call).fetchHistory();
  const { workflowId, runId } = await handle(call).describe();
  await client.workflowService.resetWorkflowExecution({
    ...{ namespace: 'default', workflowExecution: { workflowId, runId }, reason: 'test', requestId: runId },
    workflowTaskFinishEventId: events?.find((event) => event.workflowTaskCompletedEventAttributes)?.eventId ?? null,
  });
};
const away = () => new CountersignError('ERR_DATABASE_UNAVAILABLE', 'the database does not answer');
const [STARTED, RESOLUTION, DECISION, CLAIMED, SENT, STORED] = STAGES;

/** Every path through the workflow, by the name of its history's file. */
export const PATHS: Readonly<Record<string, Path>> = {
  'granted-before-the-first-step': told({}),
  'granted-while-it-waited-since-its-start': at(STARTED, nothing),
  'granted-and-signalled': at(RESOLUTION, nothing),
  'signalled-three-times-then-granted': at(RESOLUTION, signals(3)),
  'signalled-seven-times-then-granted': at(RESOLUTION, signals(7)),
  'denied-before-the-first-step': told({ status: { kind: 'denied' } }, false),
  'request-expired-at-the-service': told({ status: { kind: 'expired' } }, false),
  'request-cancelled-at-the-service': told({ status: { kind: 'cancelled' } }, false),
  'request-failed-at-the-service': told({ status: { kind: 'failed' } }, false),
  'denied-after-a-wait': async (engine) => {
    const call = await callAt(RESOLUTION, engine);
    engine.world.say(call, { status: { kind: 'denied' } });
    await signal(engine, call);
    return over(engine, call);
  },
  'cancelled-while-it-waited-since-its-start': at(STARTED, cancelled),
  'cancelled-while-it-awaited-its-resolution': at(RESOLUTION, cancelled),
  'cancelled-while-it-awaited-a-decision': at(DECISION, cancelled),
  'cancelled-too-late-claimed': at(CLAIMED, cancelled),
  'cancelled-too-late-sent': at(SENT, cancelled),
  'request-deadline-passed': at(RESOLUTION, overdue('request_deadline')),
  'approval-expired': at(DECISION, overdue('approval_expires_at')),
  'ended-by-policy-meanwhile': at(RESOLUTION, ended('policy_denied')),
  'approval-that-is-over-already': told(
    { status: { kind: 'granted', approval: anApproval({ approvedUntil: new Date(0).toISOString() }) } },
    false,
  ),
  'decision-put-off-then-allowed': at(DECISION, nothing, false),
  'decision-put-off-and-signalled': at(DECISION, nothing),
  'denied-by-policy': told({ decision: { kind: 'deny' } }),
  'policy-decision-point-away-then-back': async (engine) => {
    const call = await engine.world.hold();
    engine.world.approve(call);
    engine.world.say(call, { decision: new CountersignError('ERR_PDP_UNAVAILABLE', 'away') });
    await signal(engine, call);
    await waitFor(async () => (await engine.world.stateOf(call)) === 'granted');
    goOn(engine, [call]);
    return over(engine, call);
  },
  'tool-says-that-it-failed': told({ result: { kind: 'result', isError: true, result: { content: [] } } }),
  'tool-answers-with-an-error': told({ result: { kind: 'error', code: -32_000, message: 'no' } }),
  'tool-was-not-sent': told({ result: { kind: 'not_sent', cause: 'refused' } }),
  'tool-gave-no-answer': told({ result: { kind: 'no_answer', cause: 'reset' } }),
  'tool-step-failed-after-the-permit': told({ result: new Error('lost') }),
  'tool-step-failed-before-the-permit': told({ failures: { permit: [away()] } }),
  'database-away-for-some-attempts': told({ failures: { load: [1, 2, 3, 4, 5].map(away) } }),
  'step-failed-for-good': async (engine) => {
    const call = await engine.world.hold();
    const load = [ApplicationFailure.nonRetryable('no use')];
    engine.world.approve(call);
    engine.world.say(call, { failures: { load } });
    await signal(engine, call);
    await waitFor(() => load.length === 0);
    await signal(engine, call);
    return over(engine, call);
  },
  'reset-while-it-awaited-its-resolution': at(RESOLUTION, reset),
  'reset-while-it-awaited-a-decision': at(DECISION, reset),
  'reset-while-it-was-claimed': at(CLAIMED, reset, false),
  'reset-while-it-was-sent': at(SENT, reset, false),
  'reset-when-it-was-over': at(STORED, reset, false),
  'ended-by-an-operator-and-started-again': at(RESOLUTION, async ({ handle, workflows }, call) => {
    await handle(call).terminate('test');
    await workflows.start(call.gatedCallId);
  }),
  'cancelled-in-the-engine': at(RESOLUTION, ({ handle }, call) => handle(call).cancel()),
  'signalled-while-it-was-sent': at(SENT, async (engine, call) => {
    await signal(engine, call);
    await signal(engine, call);
  }),
  'unknown-signals': at(RESOLUTION, async ({ handle }, call) => {
    for (const name of ['changed', 'not-known', '__temporal_not_known'])
      await handle(call).signal(name, { junk: true });
  }),
  'signalled-after-the-end': async (engine) => {
    const call = await engine.world.hold();
    await cancelled(engine, call);
    await signal(engine, call);
    return over(engine, call);
  },
  'still-waiting': (engine) => callAt(RESOLUTION, engine),
};
