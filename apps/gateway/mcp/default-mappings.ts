import type { Resource } from '../../../workflows/domain/authzen/evaluation.ts';
import { objectOf, type Json, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { MappingError } from '../../shared/coaz/mapping-error.ts';
import { LISTEN, SIGNATURE } from '../wire/identifiers.ts';

/** What the question about a message of one method is about. The action is the method; subject and agent are the token's. */
interface DefaultMapping {
  /** `server`: this server, whatever the message says. */
  readonly resource: 'server' | ((params: JsonObject) => Resource);
  /** What the binding puts into the context beside the agent. */
  readonly context?: (params: JsonObject) => JsonObject;
  /** What we put there for policies that want more. */
  readonly details?: (params: JsonObject) => JsonObject;
}

const server: DefaultMapping = { resource: 'server' };
const resource: DefaultMapping = { resource: ({ uri }) => ({ type: 'resource', id: text(uri, 'uri') }) };
const task: DefaultMapping = { resource: ({ taskId }) => ({ type: 'task', id: text(taskId, 'taskId') }) };
const prompt = (name: Json | undefined, at: string): Resource => ({ type: 'prompt', id: text(name, at) });
const present = (name: string, value: Json | undefined): JsonObject => (value === undefined ? {} : { [name]: value });

/** The table of the binding. Expressions of other parties play no part in it. @see COAZ, MCP Default Mappings */
const OF_THE_BINDING: Readonly<Record<string, DefaultMapping>> = {
  initialize: {
    resource: 'server',
    context: ({ protocolVersion }) => present('protocol_version', protocolVersion),
  },
  'tools/list': server,
  'resources/list': server,
  'prompts/list': server,
  'tasks/list': server,
  'tools/call': { resource: ({ name }) => ({ type: 'tool', id: text(name, 'name') }) },
  'resources/read': resource,
  'resources/subscribe': resource,
  'resources/unsubscribe': resource,
  'prompts/get': {
    resource: ({ name }) => prompt(name, 'name'),
    details: ({ arguments: args }) => present('arguments', args),
  },
  // As it was meant: the expression that was published for it is no CEL.
  'completion/complete': {
    resource: ({ ref }) => {
      const { type, name, uri } = objectOf(ref);
      return type === 'ref/prompt' ? prompt(name, 'ref.name') : { type: 'resource', id: text(uri, 'ref.uri') };
    },
  },
  'logging/setLevel': { resource: 'server', context: ({ level }) => present('level', level) },
  'tasks/get': task,
  'tasks/result': task,
  'tasks/cancel': task,
};

/** Methods that came after the binding, as of MCP 2026-07-28, and our own: mapped as their likes are. */
const SINCE_THEN: Readonly<Record<string, DefaultMapping>> = {
  'tasks/update': task,
  'resources/templates/list': server,
  'server/discover': server,
  [LISTEN]: server,
  [SIGNATURE]: server,
};

const TABLE: Readonly<Record<string, DefaultMapping>> = { ...OF_THE_BINDING, ...SINCE_THEN };

/** Every method that a default mapping is about. */
export const MAPPED_METHODS: readonly string[] = Object.keys(TABLE);

/** The default mapping of a method; `undefined` for one that is in no table, and that is denied therefore (COAZ-DF-16). */
export const defaultMapping = (method: string): DefaultMapping | undefined =>
  Object.hasOwn(TABLE, method) ? TABLE[method] : undefined;

/** Whether messages of the method are nobody's to decide on (COAZ-DF-15). */
export const passesThrough = (method: string): boolean => method === 'ping' || method.startsWith('notifications/');

function text(value: Json | undefined, member: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new MappingError(`params.${member} is not a text that is not empty`);
}
