import { describe, expect, it } from '@jest/globals';
import type { RequirementQuery, RequirementVerdict } from '../../workflows/domain/tools/requirements.ts';
import { anOpening, CALLER } from '../support/gated-calls.ts';
import { ownCalls } from '../support/own-calls.ts';
import { stepsIn, TOOL, type World } from '../support/steps.ts';

const REQUIRED = ['env:production', 'feature:new'];

describe('a granted call whose tool requires something', () => {
  const own = ownCalls();
  const asked: RequirementQuery[] = [];

  /** Answers the outcome of a granted call when the requirements of its tool have these states. */
  async function claimWith(verdict: RequirementVerdict) {
    const opening = anOpening();
    const call = await own.fixture.granted({
      ...opening,
      submission: opening.submission,
      binding: { ...opening.binding, claims: { roles: ['teller'] } },
    });
    const check = async (question: RequirementQuery) => {
      asked.push(question);
      return verdict;
    };
    const tool = { ...TOOL, facts: { ...TOOL.facts, requirements: REQUIRED } };
    const world: World = { tool, requirements: { claimNames: ['roles'], check } };
    const found = await stepsIn(world, own.fixture.lifecycle).toTheClaim(call);
    const { rows } = await own.db.pool.query<{ state: string; reason: string | null }>(
      'SELECT state, reason FROM gateway.gated_call WHERE id = $1',
      [call.gatedCallId],
    );
    return { kind: found.kind, ...rows[0] };
  }

  it('is checked again with the stored claims, and claimed when every requirement is met (REQ-014)', async () => {
    const found = await claimWith({ unmet: [], undecided: [] });
    expect(found).toEqual({ kind: 'claimed', state: 'claimed', reason: null });
    const claims = { roles: ['teller'] };
    expect(asked.at(-1)).toEqual({ requirements: REQUIRED, tool: TOOL.name, caller: CALLER, claims });
  });

  it('is denied when a requirement is no longer met, even if policy allows the call (REQ-015)', async () => {
    const denied = { kind: 'ended', state: 'denied', reason: 'requirement_unmet' };
    expect(await claimWith({ unmet: ['feature:new'], undecided: [] })).toEqual(denied);
    expect(await claimWith({ unmet: ['feature:new'], undecided: ['env:production'] })).toEqual(denied);
  });

  it('waits while a requirement cannot be checked (REQ-015)', async () => {
    const found = await claimWith({ unmet: [], undecided: ['env:production'] });
    expect(found).toEqual({ kind: 'retry', state: 'granted', reason: null });
  });
});
