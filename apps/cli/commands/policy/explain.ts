import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Explanation } from '../../../pdp/main.ts';
import type { Config } from '../../../shared/config/config.ts';
import { CliError, EXIT, facts, type Io, json, readConfig, visible } from '../../context.ts';
import { type CallOptions, requestOf } from './call-options.ts';
import { loadPdp, located, policyPlaces } from './places.ts';
import { readText } from '../../../shared/text-file.ts';

const HELP = `
Name the call with --tool, or give a file with an evaluation request, as decision logs and audit records show it:
  { "subject": {...}, "action": {...}, "resource": {...}, "context": {...} }
This command ignores an approval in the request, because it cannot verify it. --approved assumes a verified approval.

  countersign policy explain --tool files__write_file --arguments '{"path": "/srv/a"}' --as alice --role developer`;

interface ExplainOptions extends CallOptions {
  readonly policies?: string;
  readonly approved?: string;
  readonly json?: boolean;
}

/** `policy explain`: which rules and policies decide about one call, and why. */
export function explainCommand(io: Io): Command {
  return new Command('explain')
    .description(
      'explain a decision: its rules and policies, the approval that would permit it, and the data that they see',
    )
    .argument('[request]', 'file with an evaluation request as JSON; - reads standard input')
    .option('--tool <name>', 'the tool that is called, as agents name it')
    .option('--arguments <json>', 'arguments of the call (default: none)')
    .option('--as <subject>', 'subject of the caller (default: someone)')
    .option('--role <name...>', 'roles of the caller')
    .option('--client <id>', 'OAuth client of the caller')
    .option('--effect <effect>', 'effect of the tool (default: as tools says)')
    .option('--policies <from>', 'policy folder or configuration file (default: the configuration)')
    .option('--approved <template>', 'assume a verified approval of this template')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, options: ExplainOptions, command: Command) => {
      const places = policyPlaces(io, command, options.policies);
      const request = await requestFrom(io, file, { options, config: readConfig(io, command).config });
      const { explainRequest, shortVersion } = await loadPdp();
      const found = await explainRequest(request, places, options.approved);
      const explained = { ...found, policies: found.policies.map((policy) => located(io, places, policy)) };
      if (options.json) io.out(json(explained));
      else {
        printExplanation(io, explained, shortVersion(explained.version));
        if (explained.permitsElsewhere !== undefined && places.rules !== undefined) io.out('No rule allows this call.');
      }
    });
}

async function requestFrom(
  io: Io,
  file: string | undefined,
  { options, config }: { options: ExplainOptions; config: Config },
): Promise<unknown> {
  if (file !== undefined && options.tool === undefined) return readRequest(io, file);
  if (file === undefined && options.tool !== undefined) return requestOf({ ...options, tool: options.tool }, config);
  throw new CliError('name the call with --tool, or give a file with an evaluation request; --help shows both', {
    exitCode: EXIT.usage,
  });
}

async function readRequest(io: Io, file: string): Promise<unknown> {
  const text = await (file === '-' ? io.input() : readText(resolve(io.cwd, file))).catch((cause: unknown) => {
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
  const { outcome, reason, cause, template, obligations = [], policies, seen, leftAside, madeWay } = explained;
  io.out(
    facts([
      ['decision', DECISIONS[outcome]],
      ['reason', reason],
      ['cause', cause],
      ['cure', template && `an approval of ${template}: with one, the same request is permitted`],
      ['obligations', obligations.map(({ id, type }) => visible(`${id} (${type})`)).join(', ') || undefined],
      ['version', version],
      ['seen', seen.join(', ') || 'nothing'],
      ['ignored', leftAside.length === 0 ? undefined : `${leftAside.join(', ')} (no rule or policy looks at it)`],
      ['made way', madeWay.length === 0 ? undefined : visible(`${madeWay.join(', ')} (a rule with insteadOf matches)`)],
    ]),
  );
  for (const one of explained.untested) io.out(visible(untestedInWords(one)));
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

function untestedInWords({ rule, verb, parts }: Explanation['untested'][number]): string {
  const what = parts.join(' and ');
  return verb === 'allow'
    ? `The rule "${rule}" does not allow this, because ${what} is not known or cannot be tested.`
    : `The rule "${rule}" matches because ${what} is not known or cannot be tested.`;
}

/** Tells a forgotten policy apart from a policy whose conditions do not hold. */
function undetermined({ permitsElsewhere }: Explanation): string {
  if (permitsElsewhere === undefined) return 'No policy determined this.';
  return permitsElsewhere.length === 0
    ? 'No policy permits this action on this resource in any case. Add a permit that names it.'
    : `No policy permits this. In other cases these do: ${visible(permitsElsewhere.join(', '))}.`;
}
