import * as z from 'zod';
import { STAGE_ENDS } from '../../../workflows/domain/access-request/stages.ts';
import { listOf, off, on, seconds, section, text } from './units.ts';

export const names = listOf(text);
/** People by name and by group. */
export const peopleAndGroups = {
  people: names.describe('Subjects of people.'),
  groups: names.describe('Names of groups of the directory (`directory.file`).'),
};

/** The problem of a setting that lets no person decide. */
export const NO_APPROVER = 'no person could decide: name people, groups or roles';
export const NO_PASSKEY = 'a resolver has no passkey: leave automatic out, or set passkey to false';
const ALONE =
  'is for a stage where only the resolver decides: name it in automatic, with quorum 1, and leave approvers out';

export const derivedApprovers = {
  resourceOwner: off.describe('Adds the owners that `approvals.owners` names for the requested resource.'),
  requesterManager: off.describe('Adds the manager that the directory names for the subject of the request.'),
  requester: off.describe(
    'Adds the person for whom the agent asks. They confirm in the inbox, in their own browser, after a recent sign-in. Without ' +
      'it, no requester decides. A program with an account of its own is no person.',
  ),
};
const approvers = section({
  ...peopleAndGroups,
  roles: names.describe('Roles from the sign-in.'),
  ...derivedApprovers,
}).describe('Who may vote in this stage. A person needs to match one entry only.');

type Approvers = z.infer<typeof approvers>;

/** Whether no approver is named besides the requester. */
export const isForNoOther = ({ people, groups, roles, resourceOwner, requesterManager }: Approvers) =>
  people.length + groups.length + roles.length === 0 && !resourceOwner && !requesterManager;

export const isUnnamed = (named: Approvers) => isForNoOther(named) && !named.requester;

/** The requester is one person, and the resolver one voice beside them. */
export const needsOthers = ({
  approvers: named,
  automatic,
  quorum,
}: {
  approvers: Approvers;
  automatic?: string | undefined;
  quorum: number;
}) => named.requester && isForNoOther(named) && quorum > (automatic === undefined ? 1 : 2);
export const ONE_REQUESTER = 'the requester is one person: name other approvers too, or set quorum to 1';

export const stage = z
  .strictObject({
    name: text
      .max(100)
      .describe(
        'Name of the stage. Approvers see it, and enforcement points see it as the current step of the request.',
      ),
    approvers,
    automatic: text
      .optional()
      .describe(
        'Name of a resolver of `approvals.resolvers`. The service asks it when the stage opens. The resolver has one vote beside ' +
          'the approvers.',
      ),
    withoutPeople: off.describe(
      'Lets only the resolver decide. If the resolver leaves the stage open, the request is denied or escalates at the end ' +
        'of the stage.',
    ),
    passkey: off.describe('Demands a passkey for each approval of the stage. A denial needs none.'),
    quorum: z
      .number()
      .int()
      .min(1)
      .max(100)
      .default(1)
      .describe('How many distinct approvers must approve. The resolver counts as one.'),
    veto: on.describe(
      'Lets one denial deny the request. With `false`, the request is denied when too few approvers remain for the quorum. ' +
        'That needs approvers whom the directory can list, so `roles` must be empty.',
    ),
    freshSeconds: seconds
      .max(3_600)
      .default(300)
      .describe('How old the sign-in of a requester who confirms may be, in seconds.'),
    withinSeconds: seconds
      .optional()
      .describe(
        'How long the stage may take from its opening, in seconds. Without it, the stage lasts as long as the request.',
      ),
    remindAfterSeconds: z
      .union([seconds.transform((one) => [one]), z.array(seconds)])
      .default([])
      .describe(
        'When to remind approvers who have not voted, in seconds from the opening of the stage. One number or a list.',
      ),
    then: z
      .enum(STAGE_ENDS)
      .default('deny')
      .describe(
        'What happens when the time of the stage is over: deny the request, or let the next stage decide instead.',
      ),
    onlyOnEscalation: off.describe('Opens this stage only when the stage before it ran out of time.'),
  })
  .refine(({ approvers: named, withoutPeople }) => withoutPeople || !isUnnamed(named), {
    path: ['approvers'],
    error: NO_APPROVER,
  })
  .refine(
    ({ approvers: named, withoutPeople, automatic, quorum }) =>
      !withoutPeople || (isUnnamed(named) && automatic !== undefined && quorum === 1),
    { path: ['withoutPeople'], error: ALONE },
  )
  .refine((given) => !needsOthers(given), { path: ['quorum'], error: ONE_REQUESTER })
  .refine(({ veto, approvers: { roles } }) => veto || roles.length === 0, {
    path: ['veto'],
    error: 'the directory cannot list the people of a role: set it to true, or leave roles out',
  })
  .refine(({ then, withinSeconds }) => then === 'deny' || withinSeconds !== undefined, {
    path: ['withinSeconds'],
    error: 'a stage that escalates needs a time limit: set withinSeconds',
  });

export type StageSettings = z.infer<typeof stage>;
