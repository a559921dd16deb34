import type { Leaf } from '../../../workflows/domain/access-request/outline.ts';
import { ownProperty } from '../../../workflows/domain/canonical-json.ts';
import type { Effect } from '../../../workflows/domain/tools/tool-facts.ts';
import { templateParts } from '../../shared/approvers/summary-template.ts';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import { Agent, Person } from './names.tsx';
import type { AccessRequestSummary } from '../stores/access-request.row.ts';

/** The sentence that the operator wrote for the calls of a tool. Undefined without one. */
export type SummaryTemplateOf = (tool: string) => string | undefined;

/** Reads the settings for each list, because they can change. */
export const configuredSummaries =
  ({
    tools,
  }: {
    readonly tools: Readonly<Record<string, { readonly summary?: string | undefined }>>;
  }): SummaryTemplateOf =>
  (tool) =>
    ownProperty(tools, tool)?.summary;

/** A piece of a summary: words of the operator, or an argument. `name` is shown beside arguments that no template introduces. */
export type SummaryPart =
  | { readonly words: string }
  | { readonly leaf: Leaf; readonly name: string | undefined }
  | { readonly tool: string };

/** How many arguments stand for a call without a template. */
const TELLING = 3;
/** A longer text rather is content than a name. */
const TELLING_LENGTH = 60;

/** What a call does, in one line: by the operator's template if it has all arguments for it, else the tool and its telling arguments. */
export function summaryOf(
  { tool, outline }: Pick<AccessRequestSummary, 'tool' | 'outline'>,
  template: string | undefined,
): SummaryPart[] {
  const leaves = outline?.leaves ?? [];
  const written = template === undefined ? [] : filledIn(template, leaves);
  if (written.length > 0) return written;
  const telling = leaves
    .filter(({ path }) => path !== '')
    .toSorted((a, b) => rankOf(a) - rankOf(b) || depthOf(a) - depthOf(b))
    .slice(0, TELLING);
  return [{ tool }, ...telling.map((leaf) => ({ leaf, name: leaf.path }))];
}

/** Empty if the call lacks an argument of the template. */
function filledIn(template: string, leaves: readonly Leaf[]): SummaryPart[] {
  const parts = templateParts(template).map((part): SummaryPart | undefined => {
    if ('words' in part) return part;
    const leaf = leaves.find(({ path }) => path === part.path);
    return leaf && { leaf, name: undefined };
  });
  return parts.every((part) => part !== undefined) ? parts : [];
}

/** Short texts name what a call is about. Numbers say more than booleans, and those more than the start of a long text. */
function rankOf({ json, cut }: Leaf): number {
  if (json.startsWith('"')) return cut === undefined && json.length <= TELLING_LENGTH ? 0 : 3;
  return /^[-\d]/.test(json) ? 1 : 2;
}

/** What is deeper in the arguments rather is content than a name. */
const depthOf = ({ path }: Leaf): number => path.match(/[.[]/g)?.length ?? 0;

/** Longer values are shown up to this length, and an ellipsis says so. */
const SHOWN = 80;

/** As much of a value as a summary shows: a text in quotes, so that it differs from a number. */
export function shownOf({ json, cut }: Leaf): { readonly shown: string; readonly isLong: boolean } {
  const isLong = cut !== undefined || json.length > SHOWN;
  const shown = isLong ? json.slice(0, SHOWN).replace(/\\u?[\da-f]{0,3}$|[\ud800-\udbff]$/, '') : json;
  return { shown, isLong };
}

/** A value of the arguments. */
export function LeafValue({ leaf }: { leaf: Leaf }) {
  const { shown, isLong } = shownOf(leaf);
  return (
    <span class="value">
      <Visible text={shown} notation="json" />
      {isLong && <span title="The request shows all of it">…</span>}
    </span>
  );
}

/** The summary of a call. Values are drawn like all foreign text: none can pass for the operator's words. */
export function Summary({ parts }: { parts: readonly SummaryPart[] }) {
  return (
    <span class="summary">
      {parts.map((part, at) => {
        if ('words' in part) return part.words;
        if ('tool' in part) return <Code key={at} text={part.tool} />;
        return (
          <span key={at}>
            {part.name !== undefined && (
              <>
                {' '}
                <span class="name">
                  <Visible text={part.name} />
                </span>{' '}
              </>
            )}
            <LeafValue leaf={part.leaf} />
          </span>
        );
      })}
    </span>
  );
}

/** The person, and the agent through which they ask. */
export function AskedBy({ requester: { subject, clientId } }: Pick<AccessRequestSummary, 'requester'>) {
  return (
    <>
      asked by <Person subject={subject} isShort />
      {clientId !== undefined && clientId !== subject && (
        <>
          {' through '}
          <Agent clientId={clientId} />
        </>
      )}
    </>
  );
}

const EFFECTS = {
  read: ['reads', ''],
  write: ['writes', 'info'],
  delete: ['deletes', 'bad'],
  external: ['reaches outside', 'warn'],
} as const satisfies Record<Effect, readonly [string, string]>;

/** What the tool does: `deletes`. Undefined if neither the operator nor an accepted description says it. */
export const effectWord = (effect: Effect | undefined): string | undefined => effect && EFFECTS[effect][0];

/** What the tool does, in words. Undefined: neither the operator nor an accepted description says it. */
export function EffectBadge({ effect }: { effect: Effect | undefined }) {
  const [word, tone] = effect === undefined ? ['effect unknown', 'warn'] : EFFECTS[effect];
  return <span class={`badge effect ${tone}`.trim()}>{word}</span>;
}
