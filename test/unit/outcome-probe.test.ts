import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createOutcomeProbe } from '../../activities/settle.ts';
import { systemTime } from '../support/time.ts';

it.each([
  ['files__write_file', 'files__was_written'],
  ['write_file', 'was_written'],
])('the probe of %s is the tool %s: both names have the same prefix', async (tool, probe) => {
  const looked: string[] = [];
  const ask = createOutcomeProbe({
    ...systemTime,
    upstreams: {
      tools: async () => [],
      find: async (name) => void looked.push(name),
      call: () => Promise.reject(new Error('not expected')),
    },
    settings: { outcomeProbes: { [tool]: 'was_written' } } as never,
    log: pino({ level: 'silent' }),
  });
  expect(await ask({ tool, upstream: 'files', upstreamTool: 'write_file' } as never, 'key')).toBeUndefined();
  expect(looked).toEqual([probe]);
});
