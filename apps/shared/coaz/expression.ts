import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { MappingError, shown } from './json-of.ts';

/** The only variables of an expression. @see COAZ, MCP information model (COAZ-IM-01, COAZ-IM-02) */
export interface Variables {
  /** The parameters of the message. */
  readonly params: JsonObject;
  /** All claims of the caller's verified token. */
  readonly token: JsonObject;
}

/** One CEL expression of a mapping. */
export interface Expression {
  /** Returns a CEL value, which may not be JSON. Throws CEL's own errors, whose text may quote values. */
  evaluate(variables: Variables): unknown;
  /** The members that it reads, as far as that is known without a message. */
  readonly reads: readonly Read[];
  /** Whether its cost grows with the message. */
  readonly isCostly: boolean;
}

const MAX_LENGTH = 1_000;

/**
 * These limits bound the time to parse and check an expression and to iterate over its literals. `checkNodes` and a timer bound its
 * work on the message.
 */
const CEL = new Environment({
  enableOptionalTypes: true,
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 256, maxDepth: 24, maxListElements: 64, maxMapEntries: 64, maxCallArguments: 8 },
})
  .registerVariable('params', 'map')
  .registerVariable('token', 'map');

/** Parses and checks an expression before there is a message. Throws a `MappingError` that names `at`, its place in the mapping. */
export function compileExpression(text: string, at: string): Expression {
  if (text.length > MAX_LENGTH) throw new MappingError(`${at} is longer than ${MAX_LENGTH} characters`);
  const parsed = parse(text, at);
  const found = checkNodes(parsed.ast);
  if ('problem' in found) throw new MappingError(`${at} ${found.problem}`);
  const { valid, error } = parsed.check();
  if (!valid) throw new MappingError(`${at} cannot be evaluated (${reasonOf(error)})`);
  const { reads, isCostly } = found;
  return { evaluate: (variables) => parsed({ ...variables }) as unknown, reads, isCostly };
}

function parse(text: string, at: string): ReturnType<Environment['parse']> & { readonly ast: ASTNode } {
  try {
    return CEL.parse(text);
  } catch (error) {
    throw new MappingError(`${at} is not a CEL expression (${reasonOf(error)})`);
  }
}

/** Safe to quote: without a message, the library's error is about the expression alone. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? shown(error.message.split('\n')[0] ?? '') : 'it cannot be read';

/** A selection that begins at a variable: `params.arguments.?memo`. */
interface Read {
  readonly root: string;
  /** The selected names, outermost first. */
  readonly path: readonly string[];
  /** How many of them have to exist: the others are selected with `.?`, or tested with `has`. */
  readonly needs: number;
}

type Checked = Pick<Walk, 'reads' | 'isCostly'> | { readonly problem: string };

const VARIABLES = ['params', 'token'];
/**
 * The functions that expressions may call. Functions that let a few characters block the process are not among them: `matches`
 * backtracks, a search for one text of the message in another takes minutes without interruption, and `split`, `join` and `bind`
 * multiply their input. Functions without a JSON result are not among them either.
 */
const FUNCTIONS = ['has', 'size', 'string', 'int', 'double', 'bool', 'dyn'];
const FREE_METHODS = ['hasValue', 'value', 'or', 'orValue', 'startsWith', 'endsWith'];
const METHODS = [...FREE_METHODS, 'size', 'contains', 'lowerAscii', 'upperAscii', 'trim', 'substring'];
const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'];
/** On the name `optional`. */
const OF_OPTIONAL = ['of', 'none'];
/** The longest text that `contains` may search for: the search for a short text is fast. */
const MAX_SEARCHED = 64;
/** Each may copy the largest text or list of the message. */
const MAX_JOINS = 16;

/** The findings of a walk through an expression. */
interface Walk {
  readonly reads: Read[];
  readonly problems: string[];
  joins: number;
  isCostly: boolean;
}

/** Checks that the expression contains only operations that end soon for any message, and collects its reads. */
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
      if (!node.args.every(([key]) => isText(key)))
        walk.problems.push('has a map with a key that is not a literal text');
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
  if (!scope.includes(read.root)) problems.push(`uses an unknown name ("${read.root.slice(0, 40)}")`);
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
      walk.problems.push(`searches for something other than a literal text of at most ${MAX_SEARCHED} characters`);
    }
    return args.forEach((one) => visit(one, scope, walk));
  }
  // Nested macros would double a text at each level.
  if (walk.joins > joinsBefore) walk.problems.push('iterates over a value that it has joined');
  const [variable, ...body] = args;
  if (variable?.op !== 'id' || VARIABLES.includes(variable.args)) {
    return void walk.problems.push('iterates over a list without a new name for its items');
  }
  body.forEach((one) => visit(one, [...scope, variable.args], walk));
}

const notOffered = (name: string): string => `calls ${name.slice(0, 40)}, which mappings may not call`;

const isText = (node: ASTNode): node is ASTNode & { readonly args: string } =>
  node.op === 'value' && typeof node.args === 'string';
const isShortText = (node: ASTNode): boolean => isText(node) && node.args.length <= MAX_SEARCHED;

const isPlain = (value: unknown): boolean =>
  value === null || ['string', 'bigint', 'number', 'boolean'].includes(typeof value);

/** The selection that a node stands for, if all of its names are literal. A variable alone selects no member. */
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
