import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { serve } from '../support/serve.ts';
import { CERTIFICATION, SCENARIOS } from './groups.ts';
import { isFull, runAgainst, runOwn, type Score } from './run-groups.ts';
import { openTarget } from './target.ts';

const GROUPS = [...CERTIFICATION, ...SCENARIOS];

describe('the decision point over HTTP', () => {
  const scores = new Map<string, Score>();
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await runOwn(GROUPS, database.url, (score) => void scores.set(score.group, score));
  });
  afterAll(() => database.drop());

  /** How many cases there are, when none is missed. */
  const full = (group: string): number => {
    const results = scores.get(group)?.results ?? [];
    expect(results.filter(({ misses }) => misses.length > 0)).toEqual([]);
    return results.length;
  };

  it('makes the eight decisions that the certification scenario fixes [AZ-EV-04, AZ-EV-05]', () => {
    expect(full('fixture')).toBe(8);
  });
  it('passes every case of Basic, Core and Properties [AZ-EV-01, AZ-EV-02, AZ-EV-03, AZ-EV-06, AZ-IM-01, AZ-IM-02, AZ-IM-03, AZ-IM-06, AZ-IM-08, AZ-IM-09, AZ-TR-01, AZ-TR-03, AZ-TR-04, AZ-TR-06, AZ-TR-07, AZ-TR-10, AZ-TR-11]', () => {
    expect(full('basic')).toBe(26);
  });
  it('passes every case of Batch, Core and Properties [AZ-BX-02, AZ-BX-03, AZ-BX-04, AZ-BX-06, AZ-BX-07, AZ-BX-12, AZ-BX-15, AZ-BX-17]', () => {
    expect(full('batch')).toBe(11);
  });
  it('passes every case of Search, Core and Properties [AZ-SR-01, AZ-SR-02, AZ-SR-03, AZ-SR-04, AZ-SR-06, AZ-SR-07, AZ-SR-08, AZ-SR-11, AZ-SR-18, AZ-SR-19]', () => {
    expect(full('search')).toBe(25);
  });
  it('passes every case of Discovery [AZ-MD-03, AZ-MD-04, AZ-MD-05, AZ-MD-12, AZ-MD-13, AZ-MD-19]', () => {
    expect(full('discovery')).toBe(6);
  });
  it('binds denials to the published digests', () => {
    expect(full('binding')).toBe(4);
  });
  it('decides as the todo and gateway scenarios publish it', () => {
    expect([full('todo'), full('gateways')]).toEqual([43, 25]);
  });
  it('finds exactly what the search and identity provider scenarios publish', () => {
    expect([full('search-demo'), full('idp')]).toEqual([198, 6]);
  });
  it('answers single evaluations in the form of the two published schemas [AZ-IM-08, AZ-IM-09, AZ-IM-12, AZ-IM-13]', () => {
    expect(full('schemas')).toBeGreaterThan(80);
  });
});

it('detects a decision point that permits and finds everything, in every group', async () => {
  const answer = { decision: true, evaluations: [], results: [{ type: 'user', id: 'alice' }, { name: 'read' }] };
  const server = await serve((_request, response) => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
  try {
    const scores: Score[] = [];
    await runAgainst(await openTarget({ identifier: server.url }), GROUPS, (score) => scores.push(score));
    expect(scores.filter(isFull).map(({ group }) => group)).toEqual([]);
  } finally {
    await server.close();
  }
});
