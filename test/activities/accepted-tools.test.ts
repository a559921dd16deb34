import { describe, expect, it } from '@jest/globals';
import { CountersignError } from '../../workflows/domain/errors.ts';
import type { Accepted } from '../../workflows/domain/tools/accepted-descriptions.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, TOOL } from '../support/steps.ts';

describe('a granted call of a tool that has not changed since the call was made', () => {
  const own = ownCalls();

  async function claimWith(among: Accepted['among']) {
    const call = await own.fixture.granted();
    const found = await stepsIn({ acceptedTools: { among } }, own.fixture.lifecycle).toTheClaim(call);
    const { rows } = await own.db.pool.query<{ state: string; reason: string | null }>(
      'SELECT state, reason FROM gateway.gated_call WHERE id = $1',
      [call.gatedCallId],
    );
    return { kind: found.kind, ...rows[0] };
  }

  it('is claimed while the operator accepts the tool', async () => {
    const asked: unknown[] = [];
    const found = await claimWith(async (tools) => {
      asked.push(tools);
      return tools;
    });
    expect(found).toEqual({ kind: 'claimed', state: 'claimed', reason: null });
    expect(asked[0]).toEqual([TOOL]);
  });

  it('is denied when the operator now accepts another description of the tool, even if policy allows the call', async () => {
    expect(await claimWith(async () => [])).toEqual({ kind: 'ended', state: 'denied', reason: 'tool_changed' });
  });

  it('waits while the accepted description cannot be read', async () => {
    const found = await claimWith(async () => {
      throw new CountersignError('ERR_DATABASE_UNAVAILABLE', 'away');
    });
    expect(found).toEqual({ kind: 'retry', state: 'granted', reason: null });
  });
});
