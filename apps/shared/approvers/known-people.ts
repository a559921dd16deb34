import { APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import { type KnownPeople, reachOf } from '../../../workflows/domain/access-request/reach.ts';
import type { Config } from '../config/config.ts';
import type { SettingProblem } from '../config/problems.ts';
import type { Directory } from '../directory/directory.ts';

type Settings = Pick<Config, 'mode' | 'identity' | 'approvals'>;

/**
 * Everyone who can decide, as far as this deployment knows them. The embedded issuer lists all who can sign in to it, with their roles. With
 * an outside issuer, the directory lists people, if it lists any. No source lists the roles of an outside issuer. Signed messages can decide
 * for people whom the configuration names for them (`approvals.webhookApprovers`), with the role of an approver and without a sign-in.
 */
export function knownPeople({ mode, identity, approvals }: Settings, directory: Directory): KnownPeople {
  const isEmbedded = mode === 'development' && identity.issuer === undefined;
  const listed = isEmbedded ? identity.people : [];
  const byMessage = isEmbedded ? decidingByMessage(approvals.webhookApprovers, directory) : [];
  const isListed = (subject: string) => listed.some(({ name }) => name === subject) || byMessage.includes(subject);
  return {
    ...directory,
    isKnown: (subject) =>
      isEmbedded || directory.people.length > 0
        ? isListed(subject) || directory.find(subject)?.isActive === true
        : undefined,
    withRole(role) {
      if (!isEmbedded) return undefined;
      const ofDirectory = directory.people.filter(({ isActive, roles }) => isActive && roles.includes(role));
      const ofIssuer = listed.filter(({ roles }) => roles.includes(role));
      const named = role === APPROVER_ROLE ? byMessage : [];
      return new Set([...ofIssuer.map(({ name }) => name), ...ofDirectory.map(({ subject }) => subject), ...named]);
    },
  };
}

/** People for whom signed messages decide. A named person whom the directory does not list has left. */
function decidingByMessage(
  { people, groups, roles }: Config['approvals']['webhookApprovers'],
  directory: Directory,
): readonly string[] {
  if (directory.people.length === 0) return people;
  const { people: listed } = directory;
  const isNamed = (one: (typeof listed)[number]) =>
    people.includes(one.subject) ||
    groups.some((name) => one.groups.has(name)) ||
    roles.some((role) => one.roles.includes(role));
  return listed.filter((one) => one.isActive && isNamed(one)).map(({ subject }) => subject);
}

/**
 * Approvers that the configuration names and that nothing knows: people who cannot sign in, and stages with fewer people than have to
 * approve. They stop nothing, because a person can be added later. What the directory rules out is an error (`templateProblems`).
 */
export function approverWarnings(settings: Settings, directory: Directory): SettingProblem[] {
  const { approvals } = settings;
  const people = knownPeople(settings, directory);
  const strangers = (named: readonly string[], path: readonly PropertyKey[]): SettingProblem[] =>
    named
      .filter((one) => directory.people.length === 0 && people.isKnown(one) === false)
      .map((one) => ({ path: [...path, 'people'], message: `${JSON.stringify(one)} is not known: ${HOW}` }));
  const stages = Object.entries(approvals.templates).flatMap(([name, template]) =>
    template.stages.flatMap((stage, index) => {
      const path = ['approvals', 'templates', name, 'stages', index];
      const { resourceOwner, requesterManager, requester, ...approvers } = stage.approvers;
      const unknown = strangers(approvers.people, [...path, 'approvers']);
      // These depend on each request.
      if (resourceOwner || requesterManager || requester) return unknown;
      const asked = { requester: { subject: '' }, parties: [], delegates: [] };
      const reach = reachOf({ ...stage, approvers: { ...approvers, requesterManager: false } }, asked, people);
      if (reach === undefined || reach.length >= stage.quorum) return unknown;
      const message = `${stage.quorum} ${stage.quorum === 1 ? 'has' : 'have'} to approve, and ${reach.length} ${reach.length === 1 ? 'is' : 'are'} known who can: ${HOW}`;
      return [...unknown, { path: [...path, 'quorum'], message }];
    }),
  );
  return [
    ...stages,
    ...approvals.owners.flatMap(({ people: named }, index) => strangers(named, ['approvals', 'owners', index])),
    ...strangers(approvals.breakGlass.approvers.people, ['approvals', 'breakGlass', 'approvers']),
  ];
}

const HOW = 'correct the spelling, or add the person to identity.people';
