import { describe, expect, it } from '@jest/globals';
import { renderCreatedTask, renderTask } from '../../../apps/gateway/wire/render-task.ts';
import {
  dispositionOf,
  END_REASONS,
  GATED_CALL_STATES,
  isTerminal,
} from '../../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../../workflows/domain/ports.ts';
import { RENDERING } from '../../support/rendering.ts';

const AUTHORIZATION = 'io.modelcontextprotocol/authorization';
const DISPOSITION = 'io.modelcontextprotocol/tool-approval-disposition';
const ALIAS = 'net.openid.authzen/disposition';

const aView = (changes: Partial<GatedCallView>): GatedCallView => ({
  gatedCallId: 'canary-row-id',
  taskId: 'tsk_1',
  requestRef: 'req_1',
  state: 'pending',
  tool: 'bank__transfer',
  createdAt: '2026-11-21T09:00:00.000Z',
  lastUpdatedAt: '2026-11-21T09:00:01.000Z',
  retainUntil: '2026-11-22T09:00:00.500Z',
  inStateMs: 0,
  outcomeRef: 'out_1',
  ...changes,
});

interface Rendered {
  readonly status: string;
  readonly statusMessage: string;
  readonly resultType: string;
  readonly ttlMs: number;
  readonly result?: { isError: boolean; content: { text: string }[]; _meta: Record<string, unknown> };
  readonly error?: unknown;
  readonly _meta?: Record<string, unknown>;
}
const render = (changes: Partial<GatedCallView>) => renderTask(aView(changes), RENDERING) as unknown as Rendered;
const result = JSON.stringify({ content: [{ type: 'text', text: 'tool text' }] });

describe.each(GATED_CALL_STATES)('a task in state %s', (state) => {
  const task = render({ state, ...(dispositionOf(state) !== 'denied-not-executed' && { result }) });

  it('is a complete result with integer clocks, and names no row [TASK-014, TASK-035]', () => {
    expect(task.resultType).toBe('complete');
    expect(task.ttlMs).toBe(86_400_500);
    expect(task.statusMessage.length).toBeGreaterThan(0);
    expect(JSON.stringify(task)).not.toContain('canary');
  });

  it('is failed exactly where the request itself ended in an error, and then has that error [TASK-019]', () => {
    expect(task.status === 'failed').toBe(state === 'failed');
    expect(task.error).toEqual(state === 'failed' ? { code: -32_603, message: expect.any(String) } : undefined);
    expect(task.status === 'failed' && task.result !== undefined).toBe(false);
  });

  it('carries the awaiting envelope and the poll interval exactly while it is open [DENIAL-016]', () => {
    const isOpen = !isTerminal(state);
    expect(task._meta?.[AUTHORIZATION] !== undefined).toBe(isOpen);
    expect('pollIntervalMs' in task).toBe(isOpen);
    expect(task._meta?.['dev.countersign/outcome-ref']).toBe(isOpen ? undefined : 'out_1');
  });

  it('carries both dispositions inside its result, and nowhere else', () => {
    const disposition = dispositionOf(state);
    expect(task.result?._meta[DISPOSITION]).toBe(disposition);
    expect(task.result?._meta[ALIAS]).toBe(disposition);
    expect(task._meta?.[DISPOSITION]).toBeUndefined();
    expect(task.result !== undefined).toBe(disposition !== undefined);
  });

  it('never suggests that the tool ran while that is open', () => {
    if (isTerminal(state)) return expect(task.statusMessage).toBeTruthy();
    if (state === 'claimed') return expect(task.statusMessage).not.toMatch(/has run|ran|has not run/i);
    expect(task.statusMessage).toMatch(/has not run/);
  });

  it('is created with the members of a task and without an end [TASK-016]', () => {
    const created = renderCreatedTask(aView({ state, result }), RENDERING);
    expect(Object.keys(created)).toEqual(
      expect.arrayContaining(['resultType', 'taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs']),
    );
    for (const member of ['result', 'error', 'inputRequests', 'task']) expect(created).not.toHaveProperty(member);
    expect(created['resultType']).toBe('task');
  });
});

describe('the text of a completed task', () => {
  const textOf = (task: Rendered) => task.result?.content.map(({ text }) => text).join('\n') ?? '';

  it('says that the tool ran, after the tool’s own words', () => {
    const task = render({ state: 'executed', result });
    expect(task.result?.isError).toBe(false);
    expect(textOf(task)).toMatch(/^tool text\nThe tool ran once/);
    expect(task.result?._meta[AUTHORIZATION]).toBeUndefined();
  });

  it('says that the tool ran and failed [TASK-096, DENIAL-014]', () => {
    const task = render({ state: 'execution_error', result });
    expect(task.result?.isError).toBe(true);
    expect(textOf(task)).toMatch(/^tool text\nThe tool ran once.*error/);
    expect(task.result?._meta[AUTHORIZATION]).toBeUndefined();
  });

  it('says that the call was not delivered', () => {
    const task = render({ state: 'execution_error', reason: 'not_sent' });
    expect(task.result?.isError).toBe(true);
    expect(textOf(task)).toMatch(/did not run.*not be delivered/);
  });

  it('says that the tool may have run', () => {
    const task = render({ state: 'outcome_unknown', reason: 'no_result' });
    expect(task.result?.isError).toBe(true);
    expect(textOf(task)).toMatch(/may have run/);
    expect(task.result?._meta[AUTHORIZATION]).toBeUndefined();
  });

  it.each(END_REASONS)(
    'says, when it was denied for %s, that the tool did not run [APPR-212, DENIAL-026]',
    (reason) => {
      const task = render({ state: 'denied', reason });
      expect(task).toMatchObject({ status: 'completed', result: { isError: true } });
      expect(textOf(task)).toMatch(/did not run/);
      expect(textOf(task)).not.toMatch(/may have run/);
      expect(task.result?._meta[AUTHORIZATION]).toEqual({
        reason: 'insufficient_authorization',
        remediation: 'unavailable',
      });
    },
  );

  it.each(['request_expired', 'approval_expired'] as const)('names the expiry (%s)', (reason) => {
    expect(textOf(render({ state: 'denied', reason }))).toMatch(
      reason === 'request_expired' ? /no approver decided on the request in time/ : /approval expired/,
    );
  });
});
