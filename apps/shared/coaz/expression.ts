import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { MappingError, shown } from './json-of.ts';

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

/** A selection that begins at a variable: `params.arguments.?memo`. */
interface Read {
  readonly root: string;
  /** The names that are selected, one below the other. */
  readonly path: readonly string[];
  /** How many of them have to be there: the others are selected with `.?`, or only looked for. */
  readonly needs: number;
}

type Checked = Pick<Walk, 'reads' | 'isCostly'> | { readonly problem: string };

const VARIABLES = ['params', 'token'];
/**
 * What may be called. Not among them is what makes a pause of a few characters: `matches` backtracks, searching for one text of
 * the message in another takes minutes that nothing can interrupt, `split`, `join` and `bind` make much out of little. Nor is
 * what has no result in JSON.
 */
const FUNCTIONS = ['has', 'size', 'string', 'int', 'double', 'bool', 'dyn'];
const FREE_METHODS = ['hasValue', 'value', 'or', 'orValue', 'startsWith', 'endsWith'];
const METHODS = [...FREE_METHODS, 'size', 'contains', 'lowerAscii', 'upperAscii', 'trim', 'substring'];
const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'];
/** On the name `optional`. */
const OF_OPTIONAL = ['of', 'none'];
/** The longest text that may be searched for: short ones are found fast, wherever they are. */
const MAX_SEARCHED = 64;
/** Each may copy the largest text or list of the message. */
const MAX_JOINS = 16;

/** What is found on a walk through an expression. */
interface Walk {
  readonly reads: Read[];
  readonly problems: string[];
  joins: number;
  /** Whether it takes longer, the more there is in the message. */
  isCostly: boolean;
}

/** Whether the expression has in it only what is known to end soon, whatever the message says, and what it looks at. */
function checkNodes(ast: ASTNode): Checked {
  const walk: Walk = { reads: [], problems: [], joins: 0, isCostly: false };
  visit(ast, VARIABLES, walk);
  if (walk.joins > MAX_JOINS) walk.problems.push(`joins texts or lists more than ${MAX_JOINS} times`);
  const [problem] = walk.problems;
  return problem === undefined ? walk : { problem };
}

function visit(node: ASTNode, scope: readonly string[], walk: Walk): void {
  const each = (nodes: readonly ASTNode[]) => nodes.forEach((one) => visit(one, scope, walk));
  const read = readOf(node);
  if (read !== undefined) return checkName(read, scope, walk);
  switch (node.op) {
    case 'value':
      if (!isPlain(node.args)) walk.problems.push('has a literal that is not JSON');
      return;
    case 'id':
      return;
    case 'call':
      return visitCall(node.args, scope, walk);
    case 'rcall':
      return visitMethod(node.args, scope, walk);
    case 'list':
      return each(node.args);
    case 'map':
      if (!node.args.every(([key]) => isText(key))) walk.problems.push('has a map whose keys are not written as texts');
      return node.args.forEach(each);
    case '.':
    case '.?':
      return visit(node.args[0], scope, walk);
    case '!_':
    case '-_':
      return visit(node.args, scope, walk);
    case '+':
      walk.joins += 1;
      return each(node.args);
    case '==':
    case '!=':
    case 'in':
      if (!node.args.some(({ op }) => op === 'value')) walk.isCostly = true;
      return each(node.args);
    case '-':
    case '*':
    case '/':
    case '%':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '||':
    case '&&':
    case '?:':
    case '[]':
    case '[?]':
      return each(node.args);
  }
}

function checkName(read: Read, scope: readonly string[], { reads, problems }: Walk): void {
  if (!scope.includes(read.root)) problems.push(`uses a name that there is not ("${read.root.slice(0, 40)}")`);
  else if (VARIABLES.includes(read.root)) reads.push(read);
}

function visitCall([name, args]: readonly [string, readonly ASTNode[]], scope: readonly string[], walk: Walk): void {
  if (!FUNCTIONS.includes(name)) return void walk.problems.push(notOffered(name));
  if (name === 'size') walk.isCostly = true;
  const found: Walk = name === 'has' ? { ...walk, reads: [] } : walk;
  args.forEach((one) => visit(one, scope, found));
  if (name === 'has')
    walk.reads.push(...found.reads.map((read) => ({ ...read, needs: Math.min(read.needs, read.path.length - 1) })));
}

function visitMethod(
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  scope: readonly string[],
  walk: Walk,
): void {
  if (receiver.op === 'id' && receiver.args === 'optional' && OF_OPTIONAL.includes(name)) {
    return args.forEach((one) => visit(one, scope, walk));
  }
  const isMacro = MACROS.includes(name);
  if (!isMacro && !METHODS.includes(name)) return void walk.problems.push(notOffered(name));
  if (!FREE_METHODS.includes(name)) walk.isCostly = true;
  const joinsBefore = walk.joins;
  visit(receiver, scope, walk);
  if (!isMacro) {
    if (name === 'contains' && !args.every(isShortText)) {
      walk.problems.push(`searches for something else than a text of at most ${MAX_SEARCHED} characters`);
    }
    return args.forEach((one) => visit(one, scope, walk));
  }
  // One macro in another would double a text with each level.
  if (walk.joins > joinsBefore) walk.problems.push('walks through something that it has joined');
  const [variable, ...body] = args;
  if (variable?.op !== 'id' || VARIABLES.includes(variable.args)) {
    return void walk.problems.push('walks through a list without a name of its own for its items');
  }
  body.forEach((one) => visit(one, [...scope, variable.args], walk));
}

const notOffered = (name: string): string => `calls ${name.slice(0, 40)}, which mappings may not`;

const isText = (node: ASTNode): node is ASTNode & { readonly args: string } =>
  node.op === 'value' && typeof node.args === 'string';
const isShortText = (node: ASTNode): boolean => isText(node) && node.args.length <= MAX_SEARCHED;

const isPlain = (value: unknown): boolean =>
  value === null || ['string', 'bigint', 'number', 'boolean'].includes(typeof value);

/** The selection that a node is, if every name in it is written down. A variable alone selects nothing. */
function readOf(node: ASTNode): Read | undefined {
  if (node.op === 'id') return { root: node.args, path: [], needs: 0 };
  if (node.op !== '.' && node.op !== '.?' && node.op !== '[]' && node.op !== '[?]') return undefined;
  const [of, selected] = node.args;
  const name = typeof selected === 'string' ? selected : selected.op === 'value' ? selected.args : undefined;
  const before = typeof name === 'string' ? readOf(of) : undefined;
  if (before === undefined || typeof name !== 'string') return undefined;
  const isPlainSelection = node.op === '.' || node.op === '[]';
  return {
    ...before,
    path: [...before.path, name],
    needs: before.needs + (isPlainSelection && before.needs === before.path.length ? 1 : 0),
  };
}
