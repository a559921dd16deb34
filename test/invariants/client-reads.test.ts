import { describe, expect, it } from '@jest/globals';
import { renderCreatedTask, renderTask } from '../../apps/gateway/wire/render-task.ts';
import type { GatedCallState } from '../../workflows/domain/gated-call/gated-call.ts';
import type { GatedCallView } from '../../workflows/domain/ports.ts';
import { RENDERING } from '../support/rendering.ts';
import { checkReads, type Read } from './client-reads.ts';

const RESULT = JSON.stringify({ content: [{ type: 'text', text: 'done' }] });

const view = (state: GatedCallState, second: number): GatedCallView => ({
  gatedCallId: '00000000-0000-0000-0000-000000000000',
  taskId: 'tsk_1',
  requestRef: 'req_1',
  state,
  tool: 'files__write_file',
  createdAt: '2026-11-22T00:00:00.000Z',
  lastUpdatedAt: `2026-11-22T00:00:0${second}.000Z`,
  inStateMs: 0,
  retainUntil: '2026-11-23T00:00:00.000Z',
  ...(['executed', 'execution_error'].includes(state) && { result: RESULT }),
});

const ENDS = ['executed', 'execution_error', 'outcome_unknown', 'denied', 'cancelled', 'failed'] as const;
const asRead = (value: unknown) => JSON.parse(JSON.stringify(value)) as Read;
/** The reads of a client, for a call that comes to this end. */
const honest = (end: GatedCallState): Read[] => [
  asRead(renderCreatedTask(view('pending', 1), RENDERING)),
  asRead(renderTask(view('granted', 2), RENDERING)),
  asRead(renderTask(view('claimed', 3), RENDERING)),
  asRead(renderTask(view(end, 4), RENDERING)),
  asRead(renderTask(view(end, 4), RENDERING)),
];
const check = (reads: readonly Read[], state: string) => checkReads({ taskId: 'tsk_1', reads, state });

describe('a client’s reads of a task', () => {
  it.each(ENDS)('pass when the gateway shows a call that ends as %s', (end) => {
    expect(check(honest(end), end)).toEqual([]);
  });

  const meta = (changes: object) => (read: Read) => {
    const result = read['result'] as { _meta: object };
    return { ...read, result: { ...result, _meta: { ...result._meta, ...changes } } };
  };
  it.each<[string, (last: Read) => Read]>([
    ['is about another task', (last) => ({ ...last, taskId: 'tsk_2' })],
    ['has another status', (last) => ({ ...last, status: 'cancelled' })],
    ['gives two dispositions', meta({ 'net.openid.authzen/disposition': 'denied-not-executed' })],
    ['gives another disposition', meta({ 'io.modelcontextprotocol/tool-approval-disposition': 'outcome-unknown' })],
    ['says in words that the tool did not run', (last) => ({ ...last, statusMessage: 'The tool did not run.' })],
    ['is from before', (last) => ({ ...last, lastUpdatedAt: '2026-11-22T00:00:00.000Z' })],
    ['changed after the end', (last) => ({ ...last, result: { ...(last['result'] as object), content: [] } })],
    ['still waits', (last) => ({ ...last, _meta: { 'io.modelcontextprotocol/authorization': {} } })],
  ])('are reported when an answer %s', (_, change) => {
    const reads = honest('executed');
    expect(check([...reads.slice(0, -1), change(reads.at(-1) ?? {})], 'executed')).not.toEqual([]);
  });

  it('are reported when the database knows another end', () => {
    expect(check(honest('executed'), 'denied')).not.toEqual([]);
  });
});
