import { Command, InvalidArgumentError, Option } from 'commander';
import type { PolicyProblem, SuggestedGrants, SuggestedRule, Suggestions } from '../../../pdp/main.ts';
import { parseConfig } from '../../../shared/config/config.ts';
import { databaseAddress } from '../../../shared/config/env.ts';
import type { LoadedConfig } from '../../../shared/config/load.ts';
import { runningPostgres } from '../../../shared/embedded/postgres.ts';
import { ruleFile } from '../../../shared/rules/rules.ts';
import { limitsOf } from '../../../shared/limits.ts';
import { objectOf, ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { CliError, type Io, json, readConfig, visible } from '../../context.ts';
import { OWN_COMMAND } from '../../own-command.ts';
import { configuredPlaces, decidesItself } from '../lint/policies.ts';
import { loadPdp, located } from './places.ts';
import { ruleEntry, entryWithGrantable } from './rule-text.ts';

const HELP = `
This command changes nothing. It reads the requests that ended, and prints entries for \`rules\` of countersign.yaml. Read each
before you paste it: it can show arguments of other people's calls. Messages go to stderr.

A rule is proposed only for tools whose effect is read or write. It names the tool, the agent, the account, and what the arguments
had in common. The policy engine then decides every request again, with the proposed rules after yours. A rule by which a
request passes that was denied, cancelled or expired is dropped. Where rules cannot say what the calls have in common, the command
proposes to let approvers give grants.`;

interface SuggestOptions {
  readonly days: number;
  readonly minApprovals: number;
  readonly minPeople: number;
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

/** `policy suggest`: proposes rules for calls that people always approve. */
export function suggestCommand(io: Io): Command {
  return new Command('suggest')
    .description('propose rules for calls that people always approved, after a trial on the requests of the last days')
    .addOption(number('--days <number>', 'read the requests that ended in so many last days', 1, 3_650).default(30))
    .addOption(number('--min-approvals <number>', 'propose a rule after so many approvals', 2).default(20))
    .addOption(number('--min-people <number>', 'and after approvals by so many people', 1).default(2))
    .option('--database-url <url>', 'database (default: DATABASE_URL, else the running embedded one)')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options: SuggestOptions, command: Command) => {
      const loaded = readConfig(io, command);
      refuseUnsuitable(loaded);
      const databaseUrl = await databaseOf(io, loaded, options.databaseUrl);
      const found = await suggest(io, loaded, { ...options, databaseUrl });
      if (options.json) io.out(json(found));
      else print(io, loaded, found);
    });
}

function number(flags: string, description: string, least: number, most = 1_000_000): Option {
  return new Option(flags, description).argParser((text) => {
    const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
  });
}

function refuseUnsuitable({ config, raw }: LoadedConfig): void {
  if (!decidesItself(config)) {
    const setting = config.pdp.url === undefined ? 'pdp.engine' : 'pdp.url';
    throw new CliError(
      `another decision point decides (${setting}), and this command can try rules only with the policies of this configuration; ` +
        'look at the decisions in /figures, and change the policies there',
    );
  }
  if (config.pdp.rules === undefined && objectOf(objectOf(raw)['pdp'])['policies'] === undefined) {
    throw new CliError(
      'the configuration has no rules, and rules would take the place of the policy folder; set pdp.policies to the folder first',
    );
  }
}

async function databaseOf(io: Io, { config }: LoadedConfig, named?: string): Promise<string> {
  if (named !== undefined) return databaseAddress('--database-url', named);
  const url = io.environment.databaseUrl ?? (await runningPostgres(config.stateDir));
  if (url !== undefined) return url;
  throw new CliError(
    `there is no database; set DATABASE_URL or --database-url, or start the embedded one with \`${OWN_COMMAND} up\``,
  );
}

type Found = Suggestions & { readonly days: number; readonly isCut: boolean };

async function suggest(
  io: Io,
  { config, raw }: LoadedConfig,
  { databaseUrl, days, minApprovals, minPeople }: SuggestOptions & { readonly databaseUrl: string },
): Promise<Found> {
  const { withHistory } = await import('../../../approvals/main.ts');
  const { suggestRules } = await loadPdp();
  const { baseDir, stateDir, tools } = config;
  return withHistory({ databaseUrl, days, limits: limitsOf(config) }, async ({ requests, count, isCut }) => {
    if (count === 0) {
      const last = days === 1 ? 'the last day' : `the last ${days} days`;
      throw new CliError(`no request ended in ${last}; set --days, or come back when people have decided requests`);
    }
    const own = objectOf(raw);
    const before = Array.isArray(own['rules']) ? (own['rules'] as readonly unknown[]) : [];
    const found = await suggestRules({
      history: requests,
      present: configuredPlaces(config),
      // As if they were pasted: the whole configuration is read again with them.
      placesWith: (rules) =>
        configuredPlaces(parseConfig({ ...own, rules: [...before, ...rules] }, { baseDir, stateDir })),
      statedEffect: (tool) => ownProperty(tools, tool)?.effect,
      namesTaken: (config.pdp.rules?.all ?? []).map(({ name }) => name),
      ...{ minApprovals, minPeople },
      onProgress: (step, done) => io.err(`${step}: ${done} of ${count} requests`),
    });
    return { days, isCut, ...found };
  });
}

function print(io: Io, loaded: LoadedConfig, found: Found): void {
  const { rules, grants, leftOut, counts, days, isCut } = found;
  if (isCut) io.err(`These are the latest ${counts.requests} requests. Set --days lower for a whole range.`);
  for (const one of rules) io.out(ruleEntry(one.rule, aboutRule(one, found)));
  for (const one of grants) io.out(entryWithGrants(io, loaded, one));
  for (const { reason, ...one } of leftOut) io.err(visible(`Left out: ${calls(one)}: ${reason}.`));
  const { requests, approved, harmful, settled } = counts;
  io.err(`${requests} requests ended in the last ${days} days. People approved ${approved} of them.`);
  if (harmful > 0) io.err(`Not considered: ${harmful} approvals for tools that delete or reach outside, or may do so.`);
  if (settled > 0) io.err(`Not considered: ${settled} requests about which the present policies do not ask.`);
  if (rules.length + grants.length === 0)
    io.err('Nothing is proposed. Calls that people approve often, and never deny, lead to a proposal.');
  else
    io.err(
      `Rules: ${rules.length}. Rules that could let approvers give grants: ${grants.length}. Nothing was changed.`,
    );
}

type Repeated = Suggestions['leftOut'][number] | SuggestedRule | SuggestedGrants['calls'][number];

const calls = ({ tool, agent, subjects, approvals, people }: Omit<Repeated, 'reason'>) =>
  `${tool} by ${agent} for ${subjects.join(', ')} (${approvals} approvals by ${people} ${people === 1 ? 'person' : 'people'})`;

function aboutRule(one: SuggestedRule, { counts }: Found): string[] {
  const { passed, refused, free } = one;
  return [
    `${calls(one)}.`,
    `This rule would have let ${passed} of ${counts.requests} requests pass without an approver; ${refused} of them were denied.`,
    ...(free.length === 0 ? [] : [`It lets every value pass in: ${free.join(', ')}.`]),
  ];
}

/** The rule as it stands in the file, so that no variable in it becomes its value. */
function entryWithGrants(
  io: Io,
  { config, file, lineOf }: LoadedConfig,
  { name, index, ...one }: SuggestedGrants,
): string {
  const places = { folder: config.pdp.policies, file, lineOf };
  const at = located<Pick<PolicyProblem, 'file' | 'line'>>(io, places, { file: ruleFile(index) });
  const { minutes, uses } = one.grantable;
  const about = [
    `In place of the rule "${name}" (${at.file}:${at.line ?? 1}). It still asks, and approvers can approve further calls like one.`,
    ...one.calls.map(
      (each) =>
        `${calls(each)}: grants of ${minutes} minutes and ${uses} calls could have taken the place of ${each.spared} approvals; ` +
        '0 of these calls were denied.',
    ),
  ];
  return entryWithGrantable({ file, index, grantable: one.grantable }, about);
}
