import { Environment, type ASTNode } from '@marcbachmann/cel-js';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { checkNodes, type Read } from './expression-rules.ts';
import { MappingError, shown } from './mapping-error.ts';

/** What expressions see, and nothing else. @see COAZ, MCP information model (COAZ-IM-01, COAZ-IM-02) */
export interface Variables {
  /** The parameters of the message. */
  readonly params: JsonObject;
  /** All claims of the caller's token, which was verified. */
  readonly token: JsonObject;
}

/** One CEL expression of a mapping. */
export interface Expression {
  /** Answers a value of CEL, of which not all are JSON. Throws whatever CEL throws: its words may hold values. */
  evaluate(variables: Variables): unknown;
  /** What it looks at, as far as that can be told without a message. */
  readonly reads: readonly Read[];
  /** Whether it takes longer, the more there is in the message. */
  readonly isCostly: boolean;
}

const MAX_LENGTH = 1_000;

/**
 * Small enough that an expression is parsed and checked in no time, and walks through its own literals in none. What it does
 * with what is in a message is bounded by its rules, and by the clock.
 */
const CEL = new Environment({
  enableOptionalTypes: true,
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 256, maxDepth: 24, maxListElements: 64, maxMapEntries: 64, maxCallArguments: 8 },
})
  .registerVariable('params', 'map')
  .registerVariable('token', 'map');

/**
 * Parses and checks an expression, so that what is wrong with it is known before there is a message.
 *
 * @param at Its place in the mapping. Throws a `MappingError` that names it.
 */
export function compileExpression(text: string, at: string): Expression {
  if (text.length > MAX_LENGTH) throw new MappingError(`${at} is longer than ${MAX_LENGTH} characters`);
  const parsed = parse(text, at);
  const found = checkNodes(parsed.ast);
  if ('problem' in found) throw new MappingError(`${at} ${found.problem}`);
  const { valid, error } = parsed.check();
  if (!valid) throw new MappingError(`${at} is no expression that can be evaluated (${reasonOf(error)})`);
  const { reads, isCostly } = found;
  return { evaluate: (variables) => parsed({ ...variables }) as unknown, reads, isCostly };
}

function parse(text: string, at: string): ReturnType<Environment['parse']> & { readonly ast: ASTNode } {
  try {
    return CEL.parse(text);
  } catch (error) {
    throw new MappingError(`${at} is no CEL expression (${reasonOf(error)})`);
  }
}

/** Before there is a message, what the library says can be about the expression only. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? shown(error.message.split('\n')[0] ?? '') : 'it cannot be read';
