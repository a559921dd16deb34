import type { Json } from '../../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';

export const HEADINGS = [
  ...['TOOL', 'EFFECT', 'READS ONLY', 'DESTROYS', 'OPEN WORLD', 'CONFIRMATION', 'IDEMPOTENT', 'RESULT'],
  ...['PREPROCESSOR', 'REQUIRES'],
] as const;

/** What a client is told of the safety of a tool. What nobody says is absent. */
export function safetyOf({ name, facts }: UpstreamTool) {
  const { hints, annotations, preprocessor, requirements } = facts;
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return { tool: name, ...hints, readOnlyHint, destructiveHint, openWorldHint, preprocessor, requirements };
}

/** The same as cells, in the order of the headings. */
export function safetyRow(tool: UpstreamTool): string[] {
  const facts = safetyOf(tool);
  return [
    facts.tool,
    said(facts.effect),
    said(facts.readOnlyHint),
    said(facts.destructiveHint),
    said(facts.openWorldHint),
    said(facts.requiresConfirmation),
    said(facts.idempotent),
    said(facts.resultSensitivity),
    facts.preprocessor ? 'yes' : 'no',
    facts.requirements.join(' ') || '-',
  ];
}

function said(value: Json | undefined): string {
  if (value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
