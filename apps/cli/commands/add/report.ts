import { basename } from 'node:path';
import type { Config } from '../../../shared/config/config.ts';
import { ownProperty } from '../../../../workflows/domain/canonical-json.ts';
import { unfitNames } from '../../../../workflows/domain/tools/model-names.ts';
import { OWN_VARIABLES } from '../../../shared/config/load.ts';
import { changedLines } from '../../configuration/changed-lines.ts';
import { type Io, json, table, visible } from '../../context.ts';
import { OWN_COMMAND } from '../../own-command.ts';
import { type Stack, type Taken, untilTaken } from '../../stack.ts';
import type { Acceptance } from './acceptance.ts';
import type { Listing } from './listing.ts';
import type { ToolProposal } from './proposal.ts';
import { mentionedIn, type Requested } from './requested.ts';
import type { Draft } from './usable.ts';

/** A proposal, with the name of its server. */
export type Proposal = ToolProposal & { readonly upstream: string };

/** What `add` found, and what it wrote. */
export interface Result {
  readonly draft: Draft;
  readonly requested: Requested;
  readonly listing: Listing;
  readonly proposals: readonly Proposal[];
  /** The new text of the file. */
  readonly after: string;
  readonly config: Config;
  /** Undefined if nothing was written. */
  readonly acceptance?: Acceptance;
  /** The running Countersign, as it was before the file was written. */
  readonly stack?: Stack | undefined;
}

/** The tools with what is proposed for each, and everything that the reader has to know before the decision. */
export function shownTools({ proposals, listing, requested }: Result): string[] {
  const rows = proposals.map(({ name, says, effect, verb, why, isContradicted, description }) => [
    ...[name, says, effect ?? '-', verb],
    `${isContradicted ? '! ' : ''}${why}`,
    description,
  ]);
  const contradicted = proposals.filter(({ isContradicted }) => isContradicted).length;
  const others = Object.entries(listing.others).filter(([, count]) => count > 0);
  return [
    ...requested.notes.map((note) => `note: ${visible(note)}`),
    table(['TOOL', 'ITS SERVER SAYS', 'EFFECT', 'RULE', 'WHY', 'DESCRIPTION'], rows),
    ...(contradicted === 0 ? [] : [CONTRADICTED]),
    ...namesRefused(listing),
    ...listing.refused.map(({ name, reason }) => `not offered: ${visible(name)}: ${visible(reason)}`),
    ...others.map(
      ([name, count]) =>
        `${name} also lists ${count} prompts and resources, which no rule allows. To allow them, add rules such as ` +
        `\`- allow: { prompt: '${name}__*' }\` and \`- allow: { resource: '<address>' }\``,
    ),
  ];
}

/** One such tool can cost an agent all of its tools, so it is named before anything is written. */
const namesRefused = ({ tools }: Listing): string[] =>
  unfitNames(tools).map(
    ({ names, advice }) => `warning: many models refuse a list with ${visible(names.join(', '))}: ${advice}`,
  );

const CONTRADICTED =
  '! The hints of this tool contradict its other hints or its words. Look at it before you allow it.';

/** The lines of the file that change. */
export const shownChange = ({ draft, after }: Result): string[] => changedLines(draft.before ?? '', after).map(visible);

/** Says what was written, and what comes next. */
export async function report(io: Io, options: { readonly json?: boolean }, result: Result): Promise<void> {
  const { draft, requested, proposals, listing, acceptance } = result;
  const { file } = draft;
  const isWritten = acceptance !== undefined;
  if (options.json) {
    const tools = proposals.map(({ name, upstream, says, effect, verb, why, isContradicted }) => ({
      ...{ name, server: upstream, says, effect, rule: verb, why, contradicted: isContradicted },
    }));
    return io.out(
      json({
        file,
        written: isWritten,
        servers: requested.servers.map(({ name }) => name),
        tools,
        refused: listing.refused,
        variables: variablesIn(requested),
        notes: requested.notes,
        descriptions: acceptance?.state ?? 'not accepted',
      }),
    );
  }
  if (!isWritten) {
    for (const line of shownChange(result)) io.out(line);
    return io.err(`Nothing was written to ${file}.`);
  }
  io.out(`Wrote ${file}.`);
  io.out(acceptance.said);
  for (const line of variableLines(io, requested)) io.out(line);
  io.out(await nextStep(result));
}

/** Every variable that the new servers name. */
const variablesIn = ({ servers }: Requested): string[] =>
  [...mentionedIn(servers)].filter((name) => !OWN_VARIABLES.some((own) => own === name));

/** Variables whose values were taken out of these servers. */
const takenOut = (requested: Requested): string[] =>
  variablesIn(requested).filter((name) => ownProperty(requested.variables, name) !== undefined);

function variableLines({ environment }: Io, requested: Requested): string[] {
  const taken = takenOut(requested);
  const unset = variablesIn(requested).filter(
    (name) => taken.includes(name) || ownProperty(environment.variables, name) === undefined,
  );
  if (unset.length === 0) return [];
  return [
    taken.length === 0
      ? 'Set these variables before `npx countersign up`:'
      : 'The file has variables in place of secrets. Set them before `npx countersign up`, to the values that were given:',
    ...unset.map((name) => `  export ${name}=…`),
  ];
}

const CONNECT = `\`${OWN_COMMAND} connect <host>\` connects your MCP host`;

async function nextStep({ draft, config, requested, stack }: Result): Promise<string> {
  if (stack === undefined) return `Next: \`${OWN_COMMAND} up\` starts it, and ${CONNECT}.`;
  const isOwn = [stack.configFile, stack.ownFile].includes(draft.file);
  if (!isOwn)
    return `Countersign runs with ${stack.configFile}. Restart it in this folder, so that it uses ${basename(draft.file)}.`;
  if (takenOut(requested).length > 0)
    return 'Countersign runs with this file, without the variables above. Restart it with them.';
  return AFTER[await untilTaken(config, stack)];
}

const AFTER: Readonly<Record<Taken, string>> = {
  'in force': `The running Countersign uses it now. Next: ${CONNECT}.`,
  refused: `The running Countersign refuses the file, and goes on as before. \`${OWN_COMMAND} doctor\` says why.`,
  unknown: 'Countersign runs with this file. If its console does not report the change within seconds, restart it.',
};
