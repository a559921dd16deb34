import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Explanation, PolicyPlaces } from '../../../pdp/main.ts';
import { CliError, facts, type Io, json, visible } from '../../context.ts';
import { placed, policyPlaces } from './check.ts';

const EXPLAIN_HELP = `
The file has one evaluation request: { "subject": {...}, "action": {...}, "resource": {...}, "context": {...} }.
An approval within it is left aside, since it could not be verified here; --approved assumes one.`;

interface ExplainOptions {
  readonly policies?: string;
  readonly approved?: string;
  readonly json?: boolean;
}

/** `policy explain`: why a request is decided as it is, and what the policies saw of it. */
export function explainCommand(io: Io): Command {
  return new Command('explain')
    .description('tell why a request is decided as it is: the policies, what would cure a denial, what they could see')
    .argument('<request>', 'file with an evaluation request as JSON; - reads what is piped in')
    .option('--policies <folder>', 'policy folder (default: pdp.policies)')
    .option('--approved <template>', 'assume a verified approval of this template')
    .option('--json', 'print JSON')
    .addHelpText('after', EXPLAIN_HELP)
    .action(async (file: string, { policies, approved, json: asJson }: ExplainOptions, command: Command) => {
      const places = policyPlaces(io, command, policies);
      const request = await readRequest(io, file);
      // Loaded only now: it brings the policy engine with it.
      const { explainRequest, shortVersion } = await import('../../../pdp/main.ts');
      const explained = located(io, places, await explainRequest(request, places, approved));
      if (asJson) io.out(json(explained));
      else print(io, explained, shortVersion(explained.version));
    });
}

async function readRequest(io: Io, file: string): Promise<unknown> {
  const text = await (file === '-' ? io.input() : readFile(resolve(io.cwd, file), 'utf8')).catch((cause: unknown) => {
    throw new CliError(`${file} cannot be read. Name a file with an evaluation request, or - for what is piped in`, {
      cause,
    });
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError(`${file} is no JSON. Write one evaluation request; --help shows its form`, { cause });
  }
}

function located(io: Io, places: PolicyPlaces, explained: Explanation): Explanation {
  return { ...explained, policies: explained.policies.map((policy) => placed(io, places, policy)) };
}

const DECISIONS = {
  permit: 'permitted',
  deny: 'denied, and no approval would change that',
  requestable: 'denied, until somebody approves',
  failed: 'denied, because it could not be evaluated',
} as const satisfies Record<Explanation['outcome'], string>;

function print(io: Io, explained: Explanation, version: string): void {
  const { outcome, reason, cause, template, obligations = [], policies, seen, leftAside } = explained;
  const cure =
    template === undefined ? undefined : `an approval of ${template}: with one, the same request is permitted`;
  io.out(
    facts([
      ['decision', DECISIONS[outcome]],
      ['reason', reason],
      ['cause', cause],
      ['cure', cure],
      ['obligations', obligations.map(({ id, type }) => visible(`${id} (${type})`)).join(', ') || undefined],
      ['version', version],
      ['seen', seen.join(', ') || 'nothing'],
      ['left aside', leftAside.length === 0 ? undefined : `${leftAside.join(', ')} (not declared in the schema)`],
    ]),
  );
  io.out(policies.length === 0 ? undetermined(explained) : 'Determined by');
  for (const { id, effect, file, line, ...annotations } of policies) {
    io.out(`  ${visible(id)}  ${effect}  ${visible(file)}:${line}`);
    const { template: asks, reason: why, title, description, obligations: demanded } = annotations;
    const obligation = demanded.length === 0 ? undefined : demanded.join(', ');
    const named = { requestable: asks, reason: why, title, description, obligation };
    for (const [name, value] of Object.entries(named)) {
      if (value !== undefined) io.out(`    @${name}  ${visible(value)}`);
    }
  }
}

/** A policy that was forgotten is told apart from one whose conditions do not hold. */
function undetermined({ permitsElsewhere }: Explanation): string {
  if (permitsElsewhere === undefined) return 'No policy determined this.';
  return permitsElsewhere.length === 0
    ? 'No policy permits this action on this resource in any case. Add a permit that names it.'
    : `No policy permits this. In other cases these do: ${visible(permitsElsewhere.join(', '))}.`;
}
