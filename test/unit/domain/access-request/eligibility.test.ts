import { describe, expect, it } from '@jest/globals';
import { readDirectory } from '../../../../apps/shared/directory/directory.ts';
import {
  electorateOf,
  ineligibilityOf,
  lapsedApprovers,
} from '../../../../workflows/domain/access-request/eligibility.ts';
import { partiesOf } from '../../../../workflows/domain/access-request/parties.ts';
import type { Electorate } from '../../../../workflows/domain/access-request/stages.ts';
import { anApprover, aStage } from '../../../support/access-requests.ts';
import { aGroup, aUser, directoryText } from '../../../support/directory.ts';

const MANAGER = { 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { manager: { value: 'mia' } } };
const people = readDirectory(
  directoryText(
    aUser('rita', MANAGER),
    aUser('mia'),
    aUser('alice'),
    aUser('gone', { active: false }),
    aGroup('security', ['alice', 'rita', 'gone']),
  ),
  'userName',
);
const asked = (approvers?: Partial<Electorate>, parties = ['rita', 'bot']) => ({
  requester: { subject: 'rita', clientId: 'bot' },
  parties,
  delegates: ['deputy'],
  stages: [aStage(approvers && { approvers })],
  stage: 1,
  answers: [],
});
const mayDecide = (subject: string, approvers?: Partial<Electorate>, roles: string[] = []) =>
  ineligibilityOf(anApprover(subject, roles), asked(approvers), people);

describe('the approver of a stage', () => {
  it('has the role, where no template says otherwise', () => {
    expect(mayDecide('alice', undefined, ['approver'])).toBeUndefined();
    expect(mayDecide('alice', undefined, ['auditor', 'approvers'])).toBe('not_eligible');
  });

  it.each([
    ['a person by name', 'alice', { people: ['alice'] }, []],
    ['a member of a group', 'alice', { groups: ['security'] }, []],
    ['a person with the role', 'alice', { roles: ['security-officer'] }, ['security-officer']],
    ['an owner of the resource', 'alice', { owners: { people: ['alice'], groups: [] } }, []],
    ['a member of a group of owners', 'alice', { owners: { people: [], groups: ['security'] } }, []],
    ['the manager of the requester', 'mia', { requesterManager: true }, []],
  ] as const)('is %s, and no other person', (_name, subject, approvers, roles) => {
    expect(mayDecide(subject, approvers, [...roles])).toBeUndefined();
    expect(mayDecide('zoe', approvers, ['approver', 'auditor'])).toBe('not_eligible');
  });

  it('is never a person who has left, even if the stage names them [ARAP-APV-02]', () => {
    for (const approvers of [{ people: ['gone'] }, { groups: ['security'] }, { roles: ['approver'] }]) {
      expect(mayDecide('gone', approvers, ['approver'])).toBe('not_eligible');
    }
  });

  it('is never a party to the request, in any other position and with any issuer [ARAP-APV-01]', () => {
    const all = { people: ['rita', 'bot'], groups: ['security'], roles: ['approver'] };
    for (const party of ['rita', 'bot']) {
      expect(mayDecide(party, all, ['approver'])).toBe('own_request');
      const elsewhere = anApprover(party, ['approver'], 'https://other.test');
      expect(ineligibilityOf(elsewhere, asked(all), people)).toBe('own_request');
    }
  });

  it('can be listed where people are not let in by role: without parties and those who have left', () => {
    expect([...(electorateOf(asked({ groups: ['security'], requesterManager: true }), people) ?? [])].sort()).toEqual([
      'alice',
      'mia',
    ]);
    expect(electorateOf(asked({ groups: ['security'], roles: ['approver'] }), people)).toBeUndefined();
  });

  it('is checked again: an approval lapses when its approver has left', () => {
    const vote = (subject: string, stage = 1) =>
      ({ approver: anApprover(subject, []), stage, verdict: 'approve', via: 'api', at: '' }) as const;
    const votes = [vote('alice'), vote('gone'), vote('zoe'), vote('zoe', 2)];
    expect(lapsedApprovers({ ...asked({ groups: ['security'] }), votes }, people)).toEqual(['gone', 'zoe']);
  });
});

describe('the parties to a request', () => {
  it('are the subject, the agent and every actor in the chains, in any place [ARAP-SUB-18]', () => {
    const act = { sub: 'outer', iss: 'https://idp.test', act: { sub: 'inner' } };
    const parties = partiesOf({
      subject: { id: 'rita', properties: { act } },
      context: { agent: 'bot', arguments: { agent: 'not-a-party' } },
      client: { id: 'mcp-gateway', actor: { id: 'said', act: { sub: 'owner-of-agent' } } },
    });
    expect(parties).toEqual(['rita', 'bot', 'outer', 'inner', 'said', 'owner-of-agent']);
  });

  it('are compared without regard to their spelling, and those who decide are named exactly', () => {
    expect(partiesOf({ subject: { id: 'Rita ' }, context: {} })).toEqual(['rita']);
    expect(mayDecide('RITA', { people: ['RITA'] })).toBe('own_request');
    expect(mayDecide('Zoe', { people: ['zoe'] })).toBe('not_eligible');
  });

  it('are the readable ones, for an invalid submission', () => {
    const client = { actor: ['x'], act: { sub: 'unheard' } };
    expect(partiesOf({ subject: { id: 'rita', properties: { act: 'x' } }, context: { agent: 7 }, client })).toEqual([
      'rita',
    ]);
  });
});
