import { hintWords } from '../../../../workflows/domain/tools/hint-words.ts';
import { objectOf } from '../../../../workflows/domain/canonical-json.ts';
import type { UpstreamTool } from '../../../../workflows/domain/upstream-ports.ts';
import { contradictionsIn, type Effect, statedEffect } from '../../../../workflows/domain/tools/tool-facts.ts';

/** What is proposed for one tool. */
export interface ToolProposal {
  /** As agents call it. */
  readonly name: string;
  /** As its server has it. */
  readonly upstreamName: string;
  /** What the server says of it, in words. */
  readonly says: string;
  /** The effect that the server states without a doubt. */
  readonly effect: Effect | undefined;
  readonly verb: 'allow' | 'approve';
  readonly description: string;
}

/** A tool that only reads, as its server says without contradiction, may be called. A call of every other tool needs an approval. */
export function proposalFor({ name, upstreamName, facts, definition }: UpstreamTool): ToolProposal {
  const stated = statedEffect(facts);
  const effect = contradictionsIn(stated, objectOf(definition['annotations'])).length === 0 ? stated : undefined;
  const description = typeof definition['description'] === 'string' ? definition['description'] : '';
  return {
    ...{ name, upstreamName, effect },
    says: saysOf(facts),
    verb: effect === 'read' ? 'allow' : 'approve',
    description: firstSentence(description),
  };
}

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
