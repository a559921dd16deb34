import { automaticVoter } from '../../../workflows/domain/access-request/automatic.ts';
import { APPROVER_ROLE, subjectsOf } from '../../../workflows/domain/access-request/eligibility.ts';
import type { ConfirmerNames, Stage } from '../../../workflows/domain/access-request/stages.ts';
import type { OwnerSettings, TemplateSettings } from '../config/approver-settings.ts';
import type { Config } from '../config/config.ts';
import type { SettingProblem } from '../config/problems.ts';
import { isForNoOther, type StageSettings } from '../config/stage-settings.ts';
import type { Directory } from '../directory/directory.ts';

/** Without a template, one person with the role decides, at any time until the request expires. */
export const DEFAULT_STAGE: Stage = {
  name: 'approval',
  approvers: { people: [], groups: [], roles: [APPROVER_ROLE], requesterManager: false },
  quorum: 1,
  veto: true,
  remindAfterSeconds: [],
  then: 'deny',
  onlyOnEscalation: false,
};

/**
 * A configured stage for one request: if the resource's owners approve, with these owners; if the requester confirms, with this person.
 * Undefined if only the requester may decide it, and no person asks. The configuration refuses decisions in a chat where a stage is for
 * the requester or demands a passkey. Such a stage allows none here either.
 */
export function stageFor(
  settings: StageSettings & Pick<TemplateSettings, 'chatDecisions' | 'grantsEndAtSignOut' | 'maxExtensionSeconds'>,
  owners: OwnerSettings,
  { resource, requester }: { readonly resource: string; readonly requester: ConfirmerNames | undefined },
): Stage | undefined {
  const { approvers, withinSeconds, automatic, passkey, freshSeconds, withoutPeople, ...more } = settings;
  const { chatDecisions, grantsEndAtSignOut, maxExtensionSeconds, ...rest } = more;
  const { resourceOwner, requester: mayConfirm, ...electorate } = approvers;
  if (mayConfirm && requester === undefined && isForNoOther(approvers)) return undefined;
  return {
    ...rest,
    ...(withinSeconds !== undefined && { withinSeconds }),
    ...(withinSeconds !== undefined && maxExtensionSeconds !== undefined && { maxExtensionSeconds }),
    ...(automatic !== undefined && { automatic }),
    ...(passkey && { passkey }),
    ...(grantsEndAtSignOut && { grantsEndAtSignOut }),
    ...(chatDecisions && !passkey && !mayConfirm && !withoutPeople && { chatDecisions }),
    approvers: {
      ...electorate,
      ...(resourceOwner && { owners: ownersOf(resource, owners) }),
      ...(mayConfirm && requester && { requester: { ...requester, freshSeconds } }),
    },
  };
}

function ownersOf(resource: string, owners: OwnerSettings) {
  const fitting = owners.filter((owner) =>
    owner.resource.endsWith('*') ? resource.startsWith(owner.resource.slice(0, -1)) : owner.resource === resource,
  );
  return {
    people: [...new Set(fitting.flatMap(({ people }) => people))],
    groups: [...new Set(fitting.flatMap(({ groups }) => groups))],
  };
}

type Approvals = Pick<Config['approvals'], 'templates' | 'owners' | 'breakGlass' | 'webhookApprovers'>;

/**
 * Checks the configured approvers against the current directory: people and groups that do not exist, and stages that their approvers
 * cannot satisfy. Parts that depend on the requester or the resource are checked for each request.
 */
export function templateProblems(
  { templates, owners, breakGlass, webhookApprovers }: Approvals,
  directory: Directory,
): SettingProblem[] {
  const named = Object.entries(templates).flatMap(([name, template]) => [
    ...template.stages.flatMap((stage, index) => {
      const path = ['approvals', 'templates', name, 'stages', index];
      return [
        ...strangers(stage.approvers, [...path, 'approvers'], directory),
        ...unsatisfiable(stage, path, directory),
      ];
    }),
    ...tooFewForAll(template, ['approvals', 'templates', name], directory),
  ]);
  const ownership = owners.flatMap((owner, index) => strangers(owner, ['approvals', 'owners', index], directory));
  const emergency = strangers(breakGlass.approvers, ['approvals', 'breakGlass', 'approvers'], directory);
  const byWebhook = strangers(webhookApprovers, ['approvals', 'webhookApprovers'], directory);
  return [...named, ...ownership, ...emergency, ...byWebhook];
}

/** Without a directory, people are not checked, because only their sign-in makes them known. */
function strangers(
  { people, groups }: { people: readonly string[]; groups: readonly string[] },
  path: readonly PropertyKey[],
  directory: Directory,
): SettingProblem[] {
  const unknown = (what: 'people' | 'groups', name: string) => ({
    path: [...path, what],
    message: `${JSON.stringify(name)} is not in the directory; check its spelling, and directory.file`,
  });
  const missing = directory.people.length === 0 ? [] : people.filter((one) => directory.find(one)?.isActive !== true);
  return [
    ...missing.map((one) => unknown('people', one)),
    ...groups.filter((one) => !directory.groups.has(one)).map((one) => unknown('groups', one)),
  ];
}

function unsatisfiable(stage: StageSettings, path: readonly PropertyKey[], directory: Directory): SettingProblem[] {
  if (stage.approvers.requesterManager && directory.people.length === 0) {
    const message = 'needs a directory with managers; set directory.file';
    return [{ path: [...path, 'approvers', 'requesterManager'], message }];
  }
  const listed = closedElectorate(stage, directory);
  if (listed === undefined || listed.size >= stage.quorum) return [];
  const people = listed.size === 1 ? 'is only 1 person' : `are only ${listed.size} people`;
  return [{ path: [...path, 'quorum'], message: `${stage.quorum} have to approve, but there ${people} who can` }];
}

/** Where a person counts once in all stages, these together need as many people as their quorums say. */
function tooFewForAll(
  template: TemplateSettings,
  path: readonly PropertyKey[],
  directory: Directory,
): SettingProblem[] {
  if (!template.separateStages || template.stages.length === 1) return [];
  const stages = template.stages.filter(({ onlyOnEscalation }) => !onlyOnEscalation);
  const listed = stages.map((stage) => closedElectorate(stage, directory));
  if (listed.some((one) => one === undefined)) return [];
  const needed = stages.reduce((sum, { quorum }) => sum + quorum, 0);
  const there = new Set(listed.flatMap((one) => [...(one ?? [])])).size;
  if (there >= needed) return [];
  const message = `its stages need ${needed} different people, but only ${there} can decide; add approvers, or set separateStages: false`;
  return [{ path: [...path, 'stages'], message }];
}

/** Subjects that can decide a stage for any requester and resource; undefined where these make a difference. */
function closedElectorate(
  { approvers, automatic }: StageSettings,
  directory: Directory,
): ReadonlySet<string> | undefined {
  const { people, groups, roles, resourceOwner, requesterManager, requester } = approvers;
  if (roles.length > 0 || resourceOwner || requesterManager || requester) return undefined;
  const active = [...subjectsOf({ people, groups }, directory)].filter(
    (one) => directory.find(one)?.isActive !== false,
  );
  return new Set(automatic === undefined ? active : [...active, automaticVoter(automatic).subject]);
}
