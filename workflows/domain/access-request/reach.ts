import type { AccessRequest } from './access-request.ts';
import { automaticVoter } from './automatic.ts';
import { type People, subjectsOf } from './eligibility.ts';
import { partIn } from './parties.ts';
import { type Counted, earlierVote, tally } from './quorum.ts';
import { isOnePerson } from './same-person.ts';
import { openStage, type Stage } from './stages.ts';

/** The people of a deployment, with what is known of all of them. An outside issuer does not say whom it knows. */
export interface KnownPeople extends People {
  /** Whether a person can decide here. Undefined if no source lists everyone. */
  isKnown(subject: string): boolean | undefined;
  /** Everyone with a role. Undefined if no source lists everyone with their roles. */
  withRole(role: string): ReadonlySet<string> | undefined;
  /** Other names of the person with this name. */
  otherNamesOf(names: readonly string[]): readonly string[];
}

type Asked = Pick<AccessRequest, 'requester' | 'parties' | 'delegates' | 'stages' | 'stage'>;

/** A stage that too few people can approve, as the configuration names it. */
export interface OutOfReach {
  readonly stage: string;
  /** Approvals that it still needs, and people who can still give one. */
  readonly needed: number;
  readonly there: number;
}

/**
 * The names of each person who could approve a stage of this request, one list for a person: not a party, not known to have left, and
 * known if everyone is. Undefined where that cannot be known.
 */
export function reachOf(
  stage: Pick<Stage, 'approvers'> & { readonly automatic?: string | undefined },
  asked: Pick<Asked, 'requester' | 'parties' | 'delegates'>,
  people: KnownPeople,
): readonly (readonly string[])[] | undefined {
  const { approvers, automatic } = stage;
  const byRole = approvers.roles.map((role) => people.withRole(role));
  if (byRole.some((one) => one === undefined)) return undefined;
  const manager = approvers.requesterManager ? people.find(asked.requester.subject)?.manager : undefined;
  const named = new Set([
    ...subjectsOf(approvers, people),
    ...byRole.flatMap((one) => [...(one ?? [])]),
    ...(manager === undefined ? [] : [manager]),
  ]);
  const found: (readonly string[])[] = [];
  for (const subject of named) {
    const names = [subject, ...people.otherNamesOf([subject])];
    const isOut = people.find(subject)?.isActive === false || people.isKnown(subject) === false;
    const isThere = found.some((one) => isOnePerson(one, names));
    if (!isOut && !isThere && partIn(asked, names) === undefined) found.push(names);
  }
  if (approvers.requester !== undefined) found.push(approvers.requester.subjects);
  if (automatic !== undefined) found.push([automaticVoter(automatic).subject]);
  return found;
}

/**
 * The stage that keeps a new request from ever being approved: it needs more people than there are, or the stages up to it together do,
 * where a person counts in one stage only. Undefined if the request can be met, or if that cannot be known. A stage that escalates, or opens
 * on escalation, can be replaced, so it is looked at when it opens (`openStageOutOfReach`).
 */
export function outOfReach(
  asked: Omit<Asked, 'stage'> & Pick<AccessRequest, 'separateStages'>,
  people: KnownPeople,
): OutOfReach | undefined {
  const needed = asked.stages.filter(({ onlyOnEscalation, then }) => !onlyOnEscalation && then !== 'escalate');
  const reaches = needed.map((stage) => ({ stage, reach: reachOf(stage, asked, people) }));
  for (const { stage, reach } of reaches) {
    if (reach !== undefined && reach.length < stage.quorum)
      return { stage: stage.name, needed: stage.quorum, there: reach.length };
  }
  const last = needed.at(-1);
  if (!asked.separateStages || last === undefined || reaches.some(({ reach }) => reach === undefined)) return undefined;
  const all: (readonly string[])[] = [];
  for (const names of reaches.flatMap(({ reach }) => reach ?? []))
    if (!all.some((one) => isOnePerson(one, names))) all.push(names);
  const sum = needed.reduce((before, { quorum }) => before + quorum, 0);
  return all.length < sum ? { stage: last.name, needed: sum, there: all.length } : undefined;
}

/** The same for the open stage of a request, by those who have not voted where a person counts. Undefined as above. */
export function openStageOutOfReach(
  asked: Asked & Pick<AccessRequest, 'separateStages'> & { readonly votes: readonly Counted[] },
  people: KnownPeople,
): OutOfReach | undefined {
  const stage = openStage(asked);
  const reach = reachOf(stage, asked, people);
  const left = reach?.filter(
    ([subject = '', ...aliases]) => earlierVote(asked, { subject, aliases }, asked.stage) === undefined,
  );
  const { missing } = tally(asked);
  if (left === undefined || left.length >= missing) return undefined;
  return { stage: stage.name, needed: missing, there: left.length };
}
