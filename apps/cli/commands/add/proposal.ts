import { hintWords } from '../../../../workflows/domain/tools/hint-words.ts';
import { objectOf } from '../../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { contradictionsIn, type Effect, statedEffect } from '../../../../workflows/domain/tools/tool-facts.ts';
import { isWritable } from '../../../shared/rules/literal.ts';
import { type Objection, objectionsTo } from './wording.ts';

/** What is proposed for one tool. */
export interface ToolProposal {
  /** As agents call it. */
  readonly name: string;
  /** As its server has it. */
  readonly upstreamName: string;
  /** What the server says of it, in words. */
  readonly says: string;
  /** The effect that the server states, if nothing speaks against it. */
  readonly effect: Effect | undefined;
  /** `none`: no rule can name the tool, so every call of it is refused. */
  readonly verb: 'allow' | 'approve' | 'none';
  /** Why, in words. */
  readonly why: string;
  /** Whether the server says one thing by its hints and another by its words or other hints. */
  readonly isContradicted: boolean;
  readonly description: string;
}

type Verdict = Pick<ToolProposal, 'effect' | 'verb' | 'why' | 'isContradicted'>;

/**
 * A tool may be called if its server says that it only reads, if no hint says that it destroys or reaches outside, and if its words do not
 * speak against that. A call of every other tool needs an approval: all of this is the word of a stranger.
 *
 * @param trustHints Whether the hints count alone. A tool whose hints say that it destroys needs an approval even then.
 */
export function proposalFor(tool: UpstreamTool, { trustHints = false } = {}): ToolProposal {
  const { name, upstreamName, facts, definition } = tool;
  return {
    ...{ name, upstreamName },
    says: saysOf(facts),
    ...verdictOn(tool, trustHints),
    description: firstSentence(typeof definition['description'] === 'string' ? definition['description'] : ''),
  };
}

function verdictOn({ upstreamName, facts, definition }: UpstreamTool, trustHints: boolean): Verdict {
  if (!isWritable(upstreamName))
    return {
      verb: 'none',
      why: 'a rule cannot name it, so every call of it is refused',
      effect: undefined,
      ...NO_DOUBT,
    };
  const annotations = objectOf(definition['annotations']);
  const effect = statedEffect(facts);
  if (effect === undefined) return approve('its server does not say that it only reads');
  const [contradiction] = contradictionsIn(effect, annotations);
  if (contradiction !== undefined) return { ...approve(contradiction), isContradicted: true };
  const objections = trustHints ? [] : objectionsTo({ name: upstreamName, definition });
  const openWorld = trustHints ? undefined : annotations['openWorldHint'];
  return effect === 'read' ? onReading(openWorld, objections) : onChanging(effect, objections);
}

function onChanging(effect: Exclude<Effect, 'read'>, objections: readonly Objection[]): Verdict {
  const destroys = objections.find(({ kind }) => kind === 'destroys');
  if (effect !== 'write' || destroys === undefined) return approve(`${STATED[effect]}, as its server says`, effect);
  return { ...approve(`it may destroy: ${destroys.because}`), isContradicted: true };
}

/** By MCP, a missing `openWorldHint` means that a tool reaches outside. Most servers leave it out, so words and arguments count instead. */
function onReading(openWorld: unknown, objections: readonly Objection[]): Verdict {
  const denied = objections.find(
    ({ kind }) => kind === 'destroys' || kind === 'changes' || (kind === 'outside' && openWorld === false),
  );
  if (denied !== undefined) return { ...approve(`${MAY[denied.kind]}: ${denied.because}`), isContradicted: true };
  if (openWorld === true) return approve('it reaches outside, as its server says');
  const [first] = objections;
  if (first !== undefined) return approve(`${MAY[first.kind]}: ${first.because}`);
  const why = `it only reads${openWorld === false ? ' and stays inside' : ''}, as its server says`;
  return { verb: 'allow', effect: 'read', why, ...NO_DOUBT };
}

const NO_DOUBT = { isContradicted: false } as const;
const approve = (why: string, effect?: Effect): Verdict => ({ verb: 'approve', why, effect, ...NO_DOUBT });

const STATED = { write: 'it changes things', delete: 'it destroys', external: 'it reaches outside' } as const;
const MAY: Readonly<Record<Objection['kind'], string>> = {
  destroys: 'it may destroy',
  changes: 'it may change things',
  outside: 'it may reach outside',
  secrets: 'it may tell secrets',
  unreadable: 'its words cannot be compared with its hints',
};

function saysOf({ hints, annotations }: UpstreamTool['facts']): string {
  const hinted = hints.effect === undefined ? [] : [`effect ${hints.effect}`];
  return [...hinted, ...hintWords(annotations).words].join(', ') || 'nothing';
}

const LONGEST = 60;

function firstSentence(text: string): string {
  const [first = ''] = text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .split(/(?<=[.!?]) /);
  return first.length > LONGEST ? `${first.slice(0, LONGEST - 1)}…` : first;
}
