import { describe, expect, it } from '@jest/globals';
import { kindOfAnswer, mayRepeat, readDenial } from '../../../apps/client/index.ts';
import type { Refusal } from '../../../apps/gateway/calls/tool-call.ts';
import { renderAnswer } from '../../../apps/gateway/wire/render-answer.ts';
import { renderCreatedTask, renderTask } from '../../../apps/gateway/wire/render-task.ts';
import { aView } from '../../support/gateway-world.ts';
import { RENDERING } from '../../support/rendering.ts';

const refused = (refusal: Refusal) => renderAnswer({ kind: 'refused', refusal }, RENDERING);
const noAnswer = () => renderAnswer({ kind: 'ran', outcome: { kind: 'no_answer', cause: 'reset' } }, RENDERING);
const denied = (envelope: unknown) => ({ _meta: { 'io.modelcontextprotocol/authorization': envelope } });
const reason = 'insufficient_authorization';
const available = (...remediationHints: unknown[]) => denied({ reason, remediation: 'available', remediationHints });

describe('an answer', () => {
  it.each([
    ['tools/call', undefined, 'complete'],
    ['tools/call', 'complete', 'complete'],
    ['tools/call', 'task', 'task'],
    ['tools/call', 'input_required', 'input_required'],
    ['prompts/get', 'input_required', 'input_required'],
    ['resources/read', 'complete', 'complete'],
    ['tasks/get', 'complete', 'complete'],
  ])('to %s that says %j is accepted: %s [TASK-004]', (method, resultType, kind) => {
    expect(kindOfAnswer(method, { resultType })).toBe(kind);
  });

  it.each([
    ['tools/list', 'task'],
    ['prompts/get', 'task'],
    ['tasks/get', 'task'],
    ['tasks/get', 'input_required'],
    ['tools/call', 'receipt'],
    ['tools/call', 'toString'],
    ['tools/call', null],
    ['tools/call', ['task']],
  ])('to %s that says %j is invalid [TASK-005]', (method, resultType) => {
    expect(() => kindOfAnswer(method, { resultType })).toThrow(TypeError);
  });
});

describe('a denial', () => {
  it("is read from the gateway's result", () => {
    const task = renderCreatedTask(aView(), RENDERING);
    const ended = renderTask(aView({ state: 'denied' }), RENDERING);
    const refusals = (['denied', 'too_many', 'needs_tasks'] as const).map((why) => refused({ reason: why }));
    expect([...refusals, task].map(readDenial)).toEqual([
      { remediation: 'unavailable', remedies: [] },
      { remediation: 'undisclosed', remedies: [] },
      { remediation: 'undisclosed', remedies: [] },
      { remediation: 'available', remedies: ['task'] },
    ]);
    expect(readDenial(ended['result'] as object)).toEqual({ remediation: 'unavailable', remedies: [] });
    for (const other of [noAnswer(), {}, { _meta: {} }]) expect(readDenial(other)).toBeUndefined();
  });

  it('without a remedy forbids to repeat the call, and to ask for another authorization [DENIAL-007]', () => {
    expect(mayRepeat(refused({ reason: 'denied' }))).toBe(false);
    expect(mayRepeat(denied({ reason, remediation: 'unavailable', remediationHints: [{ type: 'url' }] }))).toBe(false);
  });

  it.each([
    [{ reason, remediation: 'undisclosed' }],
    [{ reason, remediation: 'undisclosed', remediationHints: [{ type: 'url' }] }],
    [{ reason, remediation: 'Available' }],
    [{ reason, remediation: ['available'] }],
    [{ reason }],
    [{}],
    ['available'],
    [5],
    [null],
  ])('that is undecided or unreadable forbids to repeat the call and rules out no remedy: %j [DENIAL-008]', (one) => {
    expect(readDenial(denied(one))).toEqual({ remediation: 'undisclosed', remedies: [] });
    expect(mayRepeat(denied(one))).toBe(false);
  });

  it('with a task as remedy forbids to repeat the call while the task is open [DENIAL-024]', () => {
    expect(mayRepeat(renderCreatedTask(aView(), RENDERING))).toBe(false);
    expect(mayRepeat(renderTask(aView({ state: 'granted' }), RENDERING))).toBe(false);
    expect(mayRepeat(available({ type: 'url' }, { type: 'task' }))).toBe(false);
  });

  it('with another remedy allows to repeat the call, and unknown hints have no effect [DENIAL-011, DENIAL-013]', () => {
    const odd = [{ type: 'telepathy' }, { type: 5 }, {}, null, 'url'];
    for (const answer of [available(), available(...odd), denied({ reason, remediation: 'available' })]) {
      expect([readDenial(answer)?.remedies, mayRepeat(answer)]).toEqual([[], true]);
    }
    const known = available(...odd, { type: 'url', more: 1 }, { type: 'authorization_remediation' });
    expect([readDenial(known)?.remedies, mayRepeat(known)]).toEqual([['url', 'authorization_remediation'], true]);
  });

  it('is absent from a result without one, and then the call may not be repeated', () => {
    expect([mayRepeat({}), mayRepeat(noAnswer())]).toEqual([false, false]);
  });
});
