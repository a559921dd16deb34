import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TEST_SEALS } from './gated-calls.ts';
import { APPROVALS, doorsOf, type Records } from './offboarding-doors.ts';
import { BY_DIRECTORY, ROLES, WAYS, Workplace, type Door, type Role, type Way } from './offboarding.ts';
import { waitFor } from './wait-for.ts';
import { endedCalls } from '../apps/audit/ended-calls.ts';

const ROLE_NAMES = Object.keys(ROLES) as Role[];
const WAY_NAMES = Object.keys(WAYS) as Way[];
type Dismissal = readonly [Role, Way];
/** Every role, dismissed in every way. */
export const ALL_DISMISSALS: readonly Dismissal[] = ROLE_NAMES.flatMap((role) =>
  WAY_NAMES.map((way) => [role, way] as const),
);
/** Every role and every way, once each, in pairs in which the way shuts doors of the role. */
export const SOME_DISMISSALS = ALL_DISMISSALS.filter(
  ([role, way]) => (WAY_NAMES.indexOf(way) - ROLE_NAMES.indexOf(role) + WAY_NAMES.length) % WAY_NAMES.length === 2,
);
const nameOf = (role: Role, way: Way) => `${role}-${WAY_NAMES.indexOf(way)}`;
const SITES = {
  approver: ['inbox'],
  breaker: ['inbox'],
  overseer: ['inbox'],
  agent: [],
  auditor: ['records'],
} as const;

const namesOf = (doors: readonly Door[]) => doors.map(({ name }) => name);
async function opened(doors: readonly Door[]): Promise<string[]> {
  const found = await Promise.all(doors.map((door) => door.knock()));
  return namesOf(doors.filter((_door, index) => found[index]));
}

/** Declares the tests that dismiss people while they are signed in, and try each of their doors before and after. */
export const describeDismissals = (dismissals: readonly Dismissal[]) =>
  describe('the dismissal of a person who is signed in', () => {
    const workplace = new Workplace();
    let records: Records;
    beforeAll(async () => {
      const member = (name: string, role: Role) => ({ name, roles: ROLES[role], groups: ['crew'] });
      const dismissed = dismissals.map(([role, way]) => member(nameOf(role, way), role));
      const moved = [member('no-breaker', 'breaker'), member('no-overseer', 'overseer')];
      const others = ['stays', 'breaks'].map((name) => ({ name, roles: ['approver'] }));
      await workplace.start([...dismissed, ...moved, ...others, { name: 'agent', roles: ['agent'] }], APPROVALS);
      const call = await endedCalls(workplace.service.database.pool).end('denied');
      const digest = TEST_SEALS.digest(call.opening.binding.callDigest);
      const stored = 'SELECT outcome_ref FROM gateway.outcome_record WHERE task_id = $1';
      const { rows } = await workplace.service.database.pool.query<{ outcome_ref: string }>(stored, [call.taskId]);
      const ways = [
        `by-task/${call.taskId}`,
        `by-decision/${call.decisionId}`,
        `by-call/${digest}`,
        rows[0]?.outcome_ref,
      ];
      records = ways.map((path) => `/outcome-records/${path}`);
    });
    afterAll(() => workplace.stop());

    it.each(dismissals)('of a %s, when %s, closes exactly the doors that depend on it', async (role, way) => {
      let isOver = false;
      const employee = await workplace.arrive(nameOf(role, way), SITES[role]);
      const doors = await doorsOf(
        workplace,
        { role, employee, records },
        () => isOver && way !== 'the account is disabled in the directory',
      );
      expect(await opened(doors)).toEqual(namesOf(doors));

      await workplace.dismiss(way, employee);
      await workplace.passBound();
      const shut: readonly string[] = WAYS[way];
      isOver = shut.includes('token');
      const isShut = ({ kinds }: Door) => kinds.some((kind) => shut.includes(kind));
      const first = doors.find(isShut);
      // The directory is read again within a second, and the issuer is asked at the next request.
      if (BY_DIRECTORY.includes(way) && first !== undefined) await waitFor(async () => !(await first.knock()));
      expect(await opened(doors)).toEqual(namesOf(doors.filter((door) => !isShut(door))));
    });

    it.each([
      ['no-breaker', 'breaker', 'page: break-glass'],
      ['no-overseer', 'overseer', 'page: a request of others'],
    ] as const)('of %s from one of two roles closes only the doors of that role', async (name, role, lost) => {
      const employee = await workplace.arrive(name, ['inbox']);
      await workplace.dismiss('the person leaves the groups', employee);
      const all = await doorsOf(workplace, { role, employee, records }, () => false);
      // The directory is read again within a second. Until then, a group may open what the role does.
      const ofGroup = all.find(({ kinds }) => kinds.includes('group'));
      await waitFor(async () => (await ofGroup?.knock()) === false);
      const doors = all.filter(({ kinds }) => kinds.includes('session') && !kinds.includes('group'));
      expect(await opened(doors)).toEqual(namesOf(doors));
      workplace.loseRoles(name, ['approver']);
      await workplace.passBound();
      expect(await opened(doors)).toEqual(namesOf(doors).filter((one) => one !== lost));
    });
  });
