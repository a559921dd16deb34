import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import type {
  ChangedCall,
  Explanation,
  PolicyCheck,
  PolicyPlaces,
  PolicyProblem,
  PolicyTest,
  ReplayCounts,
} from '../../pdp/main.ts';
import { systemClock } from '../../shared/clock.ts';
import { CliError, facts, type Io, json, readConfig, visible } from '../context.ts';
import { configuredPlaces } from './lint/policies.ts';

/** Only these commands load the policy engine. */
const loadPdp = () => import('../../pdp/main.ts');

/** `policy`: shows the effect of policies before a PDP uses them. */
export function policyCommand(io: Io): Command {
  const policy = new Command('policy').description('try the policies');
  for (const command of [checkCommand, testCommand, explainCommand, replayCommand]) policy.addCommand(command(io));
  return policy;
}

function checkCommand(io: Io): Command {
  return new Command('check')
    .description('load policies as the PDP would, and list all problems. Exit code 1 if the PDP could not use them')
    .argument('[folder]', 'policy folder (default: pdp.policies)')
    .option('--json', 'print JSON')
    .action(async (folder: string | undefined, options: { json?: boolean }, command: Command) => {
      const places = policyPlaces(io, command, folder);
      const { checkPolicies, describeProblem, shortVersion } = await loadPdp();
      const checked = await checkPolicies(places);
      const locate = (problems: readonly PolicyProblem[]) => problems.map((problem) => located(io, places, problem));
      const check: PolicyCheck = { ...checked, errors: locate(checked.errors), warnings: locate(checked.warnings) };
      if (options.json) io.out(json(check));
      else {
        for (const error of check.errors) io.out(visible(`error    ${describeProblem(error)}`));
        for (const warning of check.warnings) io.out(visible(`warning  ${describeProblem(warning)}`));
        if (check.found) io.out(summary(check.found, shortVersion(check.found.version)));
      }
      const { length } = check.errors;
      if (length > 0)
        throw new CliError(`the policies have ${length} ${length === 1 ? 'error' : 'errors'}; correct them`);
    });
}

function summary(found: NonNullable<PolicyCheck['found']>, version: string): string {
  const { policies, files, requestable, templates, requestSchemas, obligations, people } = found;
  return facts([
    ['version', version],
    ['policies', `${policies} in ${files} ${files === 1 ? 'file' : 'files'}, ${requestable} requestable`],
    ['templates', templates.join(', ') || 'none'],
    ['request schemas', String(requestSchemas)],
    ['obligations', obligations.map(({ id, type }) => `${id} (${type})`).join(', ') || 'none'],
    ['people', String(people)],
  ]);
}

/** The policies of a folder, or else the configured ones. People and catalogs always come from the configuration. */
function policyPlaces(io: Io, command: Command, folder?: string): PolicyPlaces {
  const places = configuredPlaces(readConfig(io, command).config);
  return folder === undefined ? places : { ...places, folder: resolve(io.cwd, folder) };
}

/** Makes the file relative to the folder of the caller, so that terminals and editors find it. */
export function located<P extends Pick<PolicyProblem, 'file'>>(io: Io, { folder }: PolicyPlaces, at: P): P {
  return { ...at, file: relative(io.cwd, resolve(folder, at.file)) || join('.', at.file) };
}

const TEST_HELP = `
A file is YAML or JSON:
  policies: ./policies          # folder, relative to the file; by default --policies, or else the configured folder
  cases:
    - name: writing needs an approval
      request: { subject: {...}, action: {...}, resource: {...}, context: {...} }
      expected: { decision: false, template: operator_approval }    # or true, or false
    - name: an approval that has expired
      request: {...}
      approval: { template: operator_approval, state: expired }     # or valid (default), out_of_scope, unverifiable
      expected: { decision: false, reason: approval_expired, next_action: request }
    - name: the treasury gets a notification
      request: {...}
      expected: { decision: true, obligations: [tell-treasury] }    # ids, in any order; [] for none
A file can also contain the published decisions of an AuthZEN interoperability scenario.`;

function testCommand(io: Io): Command {
  return new Command('test')
    .description('compare decisions with the expectations in files. Exit code 1 if one differs')
    .argument('<file...>', 'files with requests and expected decisions')
    .option('--policies <folder>', 'policy folder for files that name none (default: pdp.policies)')
    .option('--json', 'print JSON')
    .addHelpText('after', TEST_HELP)
    .action(async (files: string[], options: { policies?: string; json?: boolean }, command: Command) => {
      const places = policyPlaces(io, command, options.policies);
      const { testPolicies } = await loadPdp();
      const tests: PolicyTest[] = [];
      for (const file of files) tests.push(await testPolicies(resolve(io.cwd, file), places, systemClock));
      if (options.json) io.out(json({ files: tests }));
      const missed = tests.map(({ file, cases }) => {
        const failed = cases.filter(({ misses }) => misses.length > 0);
        if (!options.json) printTest(io, visible(file), { failed, total: cases.length });
        return failed.length;
      });
      const [wrong, total] = [sum(missed), sum(tests.map(({ cases }) => cases.length))];
      if (wrong > 0)
        throw new CliError(`${wrong} of ${total} cases are not as expected; correct the policies or the cases`);
    });
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

function printTest(io: Io, file: string, { failed, total }: { failed: PolicyTest['cases']; total: number }): void {
  io.out(`${file}  ${total - failed.length}/${total}`);
  for (const { name, misses } of failed) io.out(`  ${visible(name)}: ${visible(misses.join('; '))}`);
}

const EXPLAIN_HELP = `
The file has one evaluation request: { "subject": {...}, "action": {...}, "resource": {...}, "context": {...} }.
This command ignores an approval in the request, because it cannot verify it. --approved assumes a verified approval.`;

function explainCommand(io: Io): Command {
  return new Command('explain')
    .description('explain a decision: its policies, the approval that would permit it, and the data that policies see')
    .argument('<request>', 'file with an evaluation request as JSON; - reads standard input')
    .option('--policies <folder>', 'policy folder (default: pdp.policies)')
    .option('--approved <template>', 'assume a verified approval of this template')
    .option('--json', 'print JSON')
    .addHelpText('after', EXPLAIN_HELP)
    .action(
      async (file: string, options: { policies?: string; approved?: string; json?: boolean }, command: Command) => {
        const places = policyPlaces(io, command, options.policies);
        const request = await readRequest(io, file);
        const { explainRequest, shortVersion } = await loadPdp();
        const found = await explainRequest(request, places, options.approved);
        const explained = { ...found, policies: found.policies.map((policy) => located(io, places, policy)) };
        if (options.json) io.out(json(explained));
        else printExplanation(io, explained, shortVersion(explained.version));
      },
    );
}

async function readRequest(io: Io, file: string): Promise<unknown> {
  const text = await (file === '-' ? io.input() : readFile(resolve(io.cwd, file), 'utf8')).catch((cause: unknown) => {
    throw new CliError(`cannot read ${file}. Name a file with an evaluation request, or - for standard input`, {
      cause,
    });
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError(`${file} is not JSON. Write one evaluation request; --help shows its form`, { cause });
  }
}

const DECISIONS = {
  permit: 'permitted',
  deny: 'denied, and no approval would change that',
  requestable: 'denied, until an approver approves',
  failed: 'denied, because the evaluation failed',
} as const satisfies Record<Explanation['outcome'], string>;

function printExplanation(io: Io, explained: Explanation, version: string): void {
  const { outcome, reason, cause, template, obligations = [], policies, seen, leftAside } = explained;
  io.out(
    facts([
      ['decision', DECISIONS[outcome]],
      ['reason', reason],
      ['cause', cause],
      ['cure', template && `an approval of ${template}: with one, the same request is permitted`],
      ['obligations', obligations.map(({ id, type }) => visible(`${id} (${type})`)).join(', ') || undefined],
      ['version', version],
      ['seen', seen.join(', ') || 'nothing'],
      ['ignored', leftAside.length === 0 ? undefined : `${leftAside.join(', ')} (not declared in the schema)`],
    ]),
  );
  io.out(policies.length === 0 ? undetermined(explained) : 'Determined by');
  for (const { id, effect, file, line, template: requestable, obligations: demanded, ...annotations } of policies) {
    io.out(`  ${visible(id)}  ${effect}  ${visible(file)}:${line}`);
    const { reason: why, title, description } = annotations;
    const named = { requestable, reason: why, title, description, obligation: demanded.join(', ') || undefined };
    for (const [name, value] of Object.entries(named)) {
      if (value !== undefined) io.out(`    @${name}  ${visible(value)}`);
    }
  }
}

/** Tells a forgotten policy apart from a policy whose conditions do not hold. */
function undetermined({ permitsElsewhere }: Explanation): string {
  if (permitsElsewhere === undefined) return 'No policy determined this.';
  return permitsElsewhere.length === 0
    ? 'No policy permits this action on this resource in any case. Add a permit that names it.'
    : `No policy permits this. In other cases these do: ${visible(permitsElsewhere.join(', '))}.`;
}

const REPLAY_HELP = `
FILE is a decision log (pdp.decisionLog) or a file of cases for \`policy test\`. Approvals of recorded calls count as they did
then. With --json, every changed call is one line, and the last line has the counts.`;

interface ReplayOptions {
  readonly policies: string;
  readonly against?: string;
  readonly failOnChange?: boolean;
  readonly json?: boolean;
}

function replayCommand(io: Io): Command {
  return new Command('replay')
    .description('decide recorded calls by changed policies and by the present ones, and list every difference')
    .argument('<file>', 'recorded calls')
    .requiredOption('--policies <candidate>', 'folder with the changed policies')
    .option('--against <folder>', 'the present policies (default: pdp.policies)')
    .option('--fail-on-change', 'exit code 1 if a decision would change, or a line cannot be read')
    .option('--json', 'print lines of JSON')
    .addHelpText('after', REPLAY_HELP)
    .action(async (file: string, options: ReplayOptions, command: Command) => {
      const present = policyPlaces(io, command, options.against);
      const candidate = policyPlaces(io, command, options.policies);
      const { replayCalls, shortVersion } = await loadPdp();
      const counts = await replayCalls({
        file: resolve(io.cwd, file),
        present,
        candidate,
        onChange: ({ before, after, ...call }) => {
          const from = before.policies.map((policy) => located(io, present, policy));
          const to = after.policies.map((policy) => located(io, candidate, policy));
          const changed = { ...call, before: { ...before, policies: from }, after: { ...after, policies: to } };
          io.out(options.json ? JSON.stringify(changed) : changeInWords(changed));
        },
        onProgress: (calls) => io.err(`${calls} calls`),
      });
      if (options.json) io.out(JSON.stringify(counts));
      else printCounts(io, counts, shortVersion);
      requireReplayed(io, counts, options);
    });
}

function changeInWords({ name, subject, action, resource, before, after }: ChangedCall): string {
  const side = (when: string, { outcome, reason, template, cause, policies }: ChangedCall['before']) => {
    const by = policies.map(({ id, file, line }) => `${id} (${file}:${line})`);
    const parts = [outcome, reason, template, cause, ...by].filter((part) => part !== undefined);
    return `  ${when.padEnd(6)}  ${parts.join('  ')}`;
  };
  const lines = [`${name}: ${action} on ${resource} by ${subject}`, side('before', before), side('after', after)];
  return lines.map(visible).join('\n');
}

function printCounts(io: Io, counts: ReplayCounts, shortVersion: (id: string) => string): void {
  io.out(
    facts([
      ['calls', String(counts.calls)],
      ['changed', String(counts.changed)],
      ...Object.entries(counts.changes).map(([kind, count]) => [kind, String(count)] as const),
      ['present', shortVersion(counts.present)],
      ['candidate', shortVersion(counts.candidate)],
    ]),
  );
}

function requireReplayed(io: Io, counts: ReplayCounts, { failOnChange }: ReplayOptions): void {
  const { changed, unreadable, firstUnreadable, calls } = counts;
  if (calls === 0) throw new CliError(`no call was replayed. ${visible(firstUnreadable ?? 'The file has none')}`);
  if (unreadable > 0) io.err(`${unreadable} not replayed. ${visible(firstUnreadable ?? '')}`);
  if (!failOnChange) return;
  if (changed > 0) throw new CliError(`${changed} of ${calls} decisions would change; review them above`);
  if (unreadable > 0) throw new CliError('not every line was replayed; correct the file');
}
