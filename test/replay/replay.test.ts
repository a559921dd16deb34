import { beforeAll, describe, expect, it } from '@jest/globals';
import type { WorkflowBundle } from '@temporalio/worker';
import pino from 'pino';
import { bundleWorkflows } from '../../apps/shared/temporal/bundle.ts';
import { installRuntime } from '../../apps/shared/temporal/worker.ts';
import { CANARY } from '../support/engine-world.ts';
import { recordedHistories, replay, type Recorded } from './histories.ts';
import { PATHS } from './paths.ts';

const recorded = recordedHistories();
let bundle: WorkflowBundle;
beforeAll(async () => {
  installRuntime(pino({ enabled: false }));
  bundle = await bundleWorkflows();
});

it('every path through the workflow is recorded', () => {
  const names = new Set(recorded.map(({ name }) => name.split('.')[0]));
  expect([...names].sort()).toEqual([...Object.keys(PATHS), 'handed-over', 'worker-died'].sort());
  expect(recorded.length).toBeGreaterThan(30);
});

it('the present workflow continues every recorded history', async () => {
  const said = await replay(recorded, bundle);
  expect(said).toEqual(Object.fromEntries(recorded.map(({ name }) => [name, undefined])));
});

describe('a history that the present workflow would not produce is detected', () => {
  const without = (part: string) => (events: Recorded['history']['events']) =>
    events.filter((event) => !(part in event));
  const renamed = (events: Recorded['history']['events']) =>
    JSON.parse(JSON.stringify(events).replaceAll('"invokeTool"', '"forgetTool"')) as typeof events;
  it.each([
    ['another step', 'granted-before-the-first-step', renamed],
    ['no pause', 'granted-and-signalled', without('timerStartedEventAttributes')],
    ['no step before the tool', 'granted-before-the-first-step', without('markerRecordedEventAttributes')],
  ])('%s', async (_what, name, change) => {
    const found = recorded.find((one) => one.name === `${name}.json`);
    const events = change(found?.history.events ?? []);
    expect(events).not.toEqual(found?.history.events);
    const numbered = events.map((event, index) => ({ ...event, eventId: String(index + 1) }));
    const said = await replay([{ name, text: '', history: { events: numbered } }], bundle);
    expect(said[name]).toBeDefined();
  });
});

it.each(recorded.map((one) => [one.name, one] as const))('%s holds references only', (_name, { text, history }) => {
  const readable = [text];
  JSON.stringify(history, (key, value: unknown) => {
    if (key === 'data' && typeof value === 'string') readable.push(Buffer.from(value, 'base64').toString());
    return value;
  });
  expect(readable.length).toBeGreaterThan(1);
  for (const secret of [CANARY, 'write_file', 'idp.test', 'apr_', 'arq_', 'tsk_']) {
    expect(readable.filter((one) => one.includes(secret))).toEqual([]);
  }
});
