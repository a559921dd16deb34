import * as z from 'zod';
import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { DAYS, type Hours, type Match, type Rule, TEMPLATE_JOINT, VERBS } from '../rules/rules.ts';
import { MAX_GRANT_MINUTES, MAX_GRANT_USES } from '../rules/grantable.ts';
import { ruleName } from '../rules/names.ts';
import { approverRuleSettings } from './approver-settings.ts';
import { argumentConditions, oneOrMore } from './condition-settings.ts';
import { isTimeZone, named, text } from './units.ts';

const patterns = (what: string) =>
  oneOrMore(text.max(1_000)).optional().describe(`${what} One or a list. \`*\` stands for any characters.`);

const caller = named({
  subject: patterns('Subjects of tokens.'),
  role: oneOrMore(text).optional().describe('Roles of the token. One or a list.'),
  group: oneOrMore(text).optional().describe('Groups of the directory. One or a list.'),
  client: patterns('OAuth clients of tokens.'),
})
  .refine(
    (given) => Object.values(given).some((one) => one !== undefined),
    'is empty: use subject, role, group or client',
  )
  .describe('Who calls. Every member must match.');

const timeOfDay = text.regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'use a time of day such as 09:00');
const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

const hours = named({
  days: oneOrMore(z.enum(DAYS))
    .optional()
    .describe('Days on which the time begins, such as `mon`. Without them, every day.'),
  from: timeOfDay.optional().describe('Time of day at which it begins. Without it, the start of the day.'),
  until: timeOfDay
    .optional()
    .describe(
      'Time of day at which it ends. If that is before `from`, it is on the next day. Without it, the end of the day.',
    ),
  timeZone: z
    .string({ error: 'say in which time zone, such as Europe/Zurich' })
    .refine(isTimeZone, 'use an IANA time zone, such as Europe/Zurich')
    .describe('IANA name of the time zone, such as `Europe/Zurich`.'),
})
  .refine(({ days, from, until }) => (days ?? from ?? until) !== undefined, 'is always: use days, from or until')
  .transform(({ days = DAYS, from = '00:00', until = '24:00', timeZone }): Hours => {
    return { days, from: minutesOf(from), until: minutesOf(until), timeZone };
  })
  .refine(({ from, until }) => from !== until, 'is empty: use two different times')
  .describe('When the rule matches, as clocks of the time zone show it at each decision.');

/** What tells calls of tools from others. */
const CALLS = {
  server: oneOrMore(text).optional().describe('Names of `mcpServers`. One or a list.'),
  tool: patterns('Names of tools: as the server has them if `server` is set, otherwise as agents call them.'),
  effect: oneOrMore(z.enum(EFFECTS))
    .optional()
    .describe('Effects of tools: what `tools` says, otherwise what the accepted description says. One or a list.'),
  caller: caller.optional(),
  where: argumentConditions.optional(),
  when: hours.optional(),
};

const excluded = named(CALLS).refine(
  (given) => Object.values(given).some((one) => one !== undefined),
  'is empty: use server, tool, effect, caller, where or when',
);

const matchSettings = named({
  ...CALLS,
  prompt: patterns('Names of prompts.'),
  resource: patterns('Addresses of resources.'),
  not: oneOrMore(z.union([text.max(1_000).transform((tool): Match => ({ tool: [tool] })), excluded]))
    .optional()
    .describe(
      'What the rule is not about, although everything else matches: a pattern of tool names, or an object like the whole. One or a list.',
    ),
}).superRefine((match, context) => {
  const fault = problemOf(match);
  if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
});

function problemOf({ server, tool, prompt, resource, effect, where, not }: Match): string | undefined {
  const isAboutTools = [server, tool, effect].some((one) => one !== undefined);
  if (!isAboutTools && prompt === undefined && resource === undefined)
    return "names no tool: use server, tool or effect, or tool: '*' for every tool";
  if (prompt !== undefined && resource !== undefined) return 'names prompts and resources: write a rule for each';
  if (prompt === undefined && resource === undefined) return undefined;
  if (isAboutTools) return 'names tools beside prompts or resources: write a rule for each';
  if (not !== undefined) return 'has not, which is for tools: leave it out';
  return where === undefined ? undefined : 'has where, which is for tools: leave it out';
}

const match = z.union([oneOrMore(text.max(1_000)).transform((tool): Match => ({ tool })), matchSettings], {
  error: 'expected a pattern of tool names, a list of these, or an object with server, tool, effect, caller and where',
});

const grantable = named({
  minutes: z.number().int().min(1).max(MAX_GRANT_MINUTES).describe('How long a grant may last, in minutes.'),
  uses: z.number().int().min(1).max(MAX_GRANT_USES).describe('How many calls a grant may approve.'),
}).describe(
  'Lets an approver give a grant: it approves further calls of the same tool with arguments like these, by the same agent for ' +
    'the same caller. These are its bounds. Without them, each call is decided by itself. If several `approve` rules match, all ' +
    'must have them, and the smallest count. Only one approval may be needed, and no passkey.',
);

const name = text.max(80).refine((one) => !one.includes(TEMPLATE_JOINT), 'use a name without " + "');

export const ruleSettings = named({
  allow: match.optional().describe('Calls that pass. A text or a list of texts means patterns of tool names.'),
  approve: match.optional().describe('Calls that need an approval.'),
  deny: match.optional().describe('Calls that are refused.'),
  insteadOf: oneOrMore(text.max(80))
    .optional()
    .describe(
      'Names of `approve` rules that do not ask about the calls which this `allow` rule matches. One or a list. All other `approve` ' +
        'and `deny` rules still apply.',
    ),
  by: approverRuleSettings.optional(),
  grantable: grantable.optional(),
  name: name
    .optional()
    .describe('Name of the rule in policies, logs and records. Without it, a name made of what the rule matches.'),
  description: text.max(2_000).optional().describe('What approvers read about the request.'),
})
  .superRefine((rule, context) => {
    const fault = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const verbs = VERBS.filter((verb) => rule[verb] !== undefined);
    if (verbs.length === 0) fault([], 'does nothing: use allow, approve or deny');
    if (verbs.length > 1) fault([], `has ${verbs.join(' and ')}: write a rule for each`);
    if (rule.insteadOf !== undefined) {
      const { prompt, resource } = rule.allow ?? {};
      if (rule.allow === undefined) fault(['insteadOf'], 'is for allow: leave it out');
      else if (prompt !== undefined || resource !== undefined)
        fault(['insteadOf'], 'is for tools, because no other calls wait for an approval: leave it out');
    }
    if (rule.approve !== undefined) {
      const { prompt, resource } = rule.approve;
      if (prompt !== undefined || resource !== undefined)
        fault(['approve'], 'only calls of tools can wait for an approval: use allow or deny');
      return;
    }
    if (rule.by !== undefined) fault(['by'], 'is for approve: leave it out');
    if (rule.grantable !== undefined) fault(['grantable'], 'is for approve: leave it out');
    if (rule.description !== undefined) fault(['description'], 'is for approve: leave it out');
  })
  .transform((rule): Rule => {
    const verb = VERBS.find((one) => rule[one] !== undefined) ?? 'deny';
    const { [verb]: matched = {}, insteadOf, by, description, grantable: bounds } = rule;
    const ruled = rule.name ?? ruleName(verb, matched);
    return { verb, match: matched, insteadOf, name: ruled, by, description, grantable: bounds };
  });

/** The rules, by which most installations need no policy of their own. */
export const rules = z
  .array(ruleSettings)
  .optional()
  .describe(
    'Which calls pass, which need an approval, and which are refused. The strictest rule that matches wins: `deny` over `approve` ' +
      'over `allow`. Their order means nothing. A call that no rule allows is refused. If several `approve` rules match, the ' +
      'approvers of each must agree.',
  );
