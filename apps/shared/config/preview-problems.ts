import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import { namePrefixOf } from '../../../workflows/domain/tools/wire-names.ts';
import type { ToolSettings } from '../../../workflows/domain/tools/tool-facts.ts';
import type { SettingProblem } from './problems.ts';

interface Surroundings {
  readonly tools: Readonly<Record<string, ToolSettings>>;
  readonly mcpServers: Readonly<Record<string, { readonly prefix?: string | undefined }>>;
}

/**
 * Previews by another tool that the operator does not state as read-only, or that is on another server. The word of a server about its own
 * tool is not enough: it would run without an approval.
 */
export function previewProblems({ tools, mcpServers }: Surroundings): SettingProblem[] {
  const prefixes = Object.entries(mcpServers).map(([name, { prefix = name }]) => namePrefixOf(prefix));
  return Object.entries(tools).flatMap(([held, { preview }]) => {
    if (preview === undefined || 'dryRun' in preview) return [];
    const { tool } = preview;
    const path = ['tools', held, 'preview', 'tool'];
    const refuse = (message: string) => [{ path, message }];
    if (tool === held)
      return refuse('it is the tool itself: use dryRun, and name the argument by which it changes nothing');
    if (ownProperty(tools, tool)?.effect !== 'read')
      return refuse(`a preview only reads: if ${JSON.stringify(tool)} does, state its effect: read in tools`);
    const isBeside = prefixes.some((prefix) => held.startsWith(prefix) && tool.startsWith(prefix));
    return isBeside || prefixes.length === 0
      ? []
      : refuse('it is not a tool of the same server: name one whose public name begins alike');
  });
}
