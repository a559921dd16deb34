import { APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Stage } from '../../../workflows/domain/access-request/stages.ts';
import type { OwnerSettings, StageSettings } from '../config/approver-settings.ts';

/** Where no template says who decides: one person with the role, as long as the request waits. */
export const DEFAULT_STAGE: Stage = {
  name: 'approval',
  approvers: { people: [], groups: [], roles: [APPROVER_ROLE], requesterManager: false },
  quorum: 1,
  veto: true,
  remindAfterSeconds: [],
  then: 'deny',
  onlyOnEscalation: false,
};

/** A configured stage as it is in force for one resource: with the owners of that resource, if it is for them. */
export function stageFor(settings: StageSettings, owners: OwnerSettings, resource: string): Stage {
  const { approvers, withinSeconds, automatic, withoutPeople: _withoutPeople, ...rest } = settings;
  const { resourceOwner, ...electorate } = approvers;
  return {
    ...rest,
    ...(withinSeconds !== undefined && { withinSeconds }),
    ...(automatic !== undefined && { automatic }),
    approvers: { ...electorate, ...(resourceOwner && { owners: ownersOf(resource, owners) }) },
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
