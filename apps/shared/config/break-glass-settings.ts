import * as z from 'zod';
import { NO_APPROVER, peopleAndGroups } from './stage-settings.ts';
import { listOf, off, seconds, section, text } from './units.ts';

/** Who may grant a request alone, past its stages. */
export const breakGlassSettings = z
  .strictObject({
    enabled: off.describe('Switches emergency grants on.'),
    approvers: section({ ...peopleAndGroups, roles: listOf(text).describe('Roles from the sign-in.') }).describe(
      'Who may grant a request alone.',
    ),
    approvalTtlSeconds: seconds
      .max(3_600)
      .default(300)
      .describe('How long an emergency grant can be used, in seconds. Keep it short.'),
  })
  .refine(
    ({ enabled, approvers: { people, groups, roles } }) => !enabled || people.length + groups.length + roles.length > 0,
    { path: ['approvers'], error: NO_APPROVER },
  )
  .prefault({})
  .describe(
    'Emergency grants: a named person grants a request alone. The service logs an alarm, and another person must review the grant.',
  );
