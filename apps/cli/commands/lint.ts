import { Command } from 'commander';
import { pino } from 'pino';
import type { Json } from '../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../workflows/domain/upstream-ports.ts';
import { systemClock } from '../../shared/clock.ts';
import { formatPath } from '../../shared/config/problems.ts';
import { CliError, type Io, json, readConfig, table, visible } from '../context.ts';
import { listed } from './lint/listed.ts';
import { configuredPlaces, lintPolicies } from './lint/policies.ts';
import { finding, lintApprovers, lintTools } from './lint/rules.ts';
import { located } from './policy/places.ts';

/** `lint`: the known facts about every tool, and the errors in tools, policies and approvers. Connects to the upstreams, and calls no tool. */
export function lintCommand(io: Io): Command {
  return new Command('lint')
    .description(
      'print the safety of every tool, and problems of tools, policies and approvers. Exit code 1 for an error',
    )
    .option('--json', 'print the tools and the findings as JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config, file, lineOf, notes } = readConfig(io, command);
      // Loaded on demand, because it brings the clients of all services.
      const { connectUpstreams } = await import('../../gateway/main.ts');
      // The findings replace the log.
      const upstreams = connectUpstreams(config, { clock: systemClock, log: pino({ enabled: false }) });
      try {
        const offered = await listed(upstreams, config);
        const { tools } = offered;
        const places = { ...configuredPlaces(config), file, lineOf };
        const findings = [
          ...notes.map(({ path, message }) => finding('warning', 'setting', formatPath(path), message)),
          ...lintTools(config, offered),
          ...lintApprovers(config),
          ...(await lintPolicies(config, offered, (problem) => located(io, places, problem))),
        ];
        if (options.json) io.out(json({ tools: tools.map(safetyOf), findings }));
        else {
          io.out(table(HEADINGS, tools.map(safetyRow)));
          for (const { severity, about, message } of findings)
            io.out(`${severity}  ${visible(about)}: ${visible(message)}`);
        }
        const errors = findings.filter(({ severity }) => severity === 'error').length;
        if (errors > 0)
          throw new CliError(`found ${errors} ${errors === 1 ? 'error' : 'errors'}; correct each, and run this again`);
      } finally {
        await upstreams.close();
      }
    });
}

const HEADINGS = [
  ...['TOOL', 'EFFECT', 'READS ONLY', 'DESTROYS', 'OPEN WORLD', 'CONFIRMATION', 'IDEMPOTENT', 'RESULT'],
  ...['PREPROCESSOR', 'REQUIRES'],
] as const;

/** The facts about the safety of a tool that clients get. Undeclared facts are absent. */
function safetyOf({ name, facts }: UpstreamTool) {
  const { hints, annotations, preprocessor, requirements } = facts;
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return { tool: name, ...hints, readOnlyHint, destructiveHint, openWorldHint, preprocessor, requirements };
}

/** The cells of a tool, in the order of the headings. */
function safetyRow(tool: UpstreamTool): string[] {
  const { tool: name, preprocessor, requirements, ...facts } = safetyOf(tool);
  const { effect, readOnlyHint, destructiveHint, openWorldHint } = facts;
  const { requiresConfirmation, idempotent, resultSensitivity } = facts;
  return [
    name,
    ...[effect, readOnlyHint, destructiveHint, openWorldHint, requiresConfirmation, idempotent].map(cell),
    ...[cell(resultSensitivity), cell(preprocessor), requirements.join(' ') || '-'],
  ];
}

function cell(value: Json | undefined): string {
  if (value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
