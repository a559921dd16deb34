import * as z from 'zod';
import { isObject, type JsonObject } from '../../../workflows/domain/canonical-json.ts';
import { unfaithful } from '../../../workflows/domain/faithful-json.ts';
import { bodyFaultOf } from '../../shared/http/faithful-json.ts';
import { CARD_ADDRESS, OWN_TOOLS } from './identifiers.ts';
import type { HoldSettings } from '../calls/hold.ts';
import type { Rendering } from './rendering.ts';

const MAX_NAME_LENGTH = 256;

const nameOf = (what: string) => {
  const error = `it must be ${what}: a string of 1 to ${MAX_NAME_LENGTH} characters`;
  return z.string({ error }).min(1, { error }).max(MAX_NAME_LENGTH, { error });
};

/** The object of a JSON text, parsed with the same checks as a request body; or the fault of the text. */
function readObject(text: string): JsonObject | string {
  const fault = unfaithful(text);
  if (fault !== undefined) return bodyFaultOf({ type: fault })?.message.replace('the body', 'its text') ?? fault;
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  return 'its text is not the JSON of an object';
}

const objectOrItsText = z
  .union([z.looseObject({}), z.string()], { error: 'it must be an object, or the JSON text of one' })
  .default({})
  .describe('The exact arguments of the call: an object, or the JSON text of that object')
  .transform((given, context) => {
    const read = typeof given === 'string' ? readObject(given) : (given as JsonObject);
    if (typeof read === 'object') return read;
    context.addIssue(read);
    return z.NEVER;
  });

/** Arguments of `request_access`: the call that is wanted. */
export const accessRequestArguments = z.strictObject({
  tool: nameOf('the name of a tool').describe('Name of the tool that needs an approval'),
  arguments: objectOrItsText,
});

/** Arguments of `get_request_status`. */
export const statusArguments = z.strictObject({
  reference: nameOf('a request reference')
    .optional()
    .describe('The request reference that you got for the request. Without one, your newest requests are listed'),
});

/**
 * The arguments of an own tool, or their problem in words, which names the member but quotes no value. A client that builds a model of a
 * schema sends `null` for a member that was left out.
 */
export function readOwnArguments<Read>(
  schema: z.ZodType<Read> & { readonly shape: object },
  given: unknown,
): { readonly read: Read } | { readonly problem: string } {
  const present = isObject(given)
    ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
    : (given ?? {});
  const parsed = schema.safeParse(present);
  if (parsed.success) return { read: parsed.data };
  const names = Object.keys(schema.shape).join(' and ');
  const problems = parsed.error.issues.map(({ path: [member], message }) =>
    typeof member === 'string' ? `${member} is not valid: ${message}` : `the only members are ${names}`,
  );
  return { problem: problems.join('; ') };
}

/** Leaves out empty `properties`: from these, a converter that builds a model makes one that drops every member. */
const jsonSchema = (schema: z.ZodType) =>
  z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema: node }) {
      if (node.properties !== undefined && Object.keys(node.properties).length === 0) delete node.properties;
      if (isObject(node.additionalProperties) && Object.keys(node.additionalProperties).length === 0)
        node.additionalProperties = true;
    },
  });

export const REQUEST_SCHEMA = jsonSchema(accessRequestArguments);
/** The client of an own tool is a model, which pays for each poll. For clients whose polls do not wait. */
export const REQUEST_POLL_MS = 60_000;
/** The same in words. */
export const LATER = `but not within the next ${REQUEST_POLL_MS / 1_000} seconds`;

/** Hosts of MCP Apps show the card beside each answer. The card calls no tool. @see SEP-1865, resource discovery */
const WITH_CARD = { ui: { resourceUri: CARD_ADDRESS, visibility: ['model'] } };

/** The gateway's own tools, as clients see them. */
export const OWN_TOOL_DEFINITIONS = [
  {
    name: OWN_TOOLS.requestAccess,
    title: 'Request access',
    description:
      'Requests an approval for a call of another tool, without waiting for it. Use it when a call was refused because it ' +
      'needs an approval. Once approved, the call runs once, with exactly these arguments; you do nothing more. Returns a request ' +
      `reference for ${OWN_TOOLS.requestStatus}, which survives restarts.`,
    inputSchema: REQUEST_SCHEMA,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    _meta: WITH_CARD,
  },
  {
    name: OWN_TOOLS.requestStatus,
    title: 'Get request status',
    description:
      'Returns the result of a call that needs an approval. It waits for that result as long as it can. If the request is still open ' +
      'then, the answer says so: tell your user, and end your turn. Without a reference, it lists your newest requests at once.',
    inputSchema: jsonSchema(statusArguments),
    annotations: { readOnlyHint: true, openWorldHint: false },
    _meta: WITH_CARD,
  },
];

interface InstructionsFor {
  /** Whether the client speaks the present revision, the only one with tasks. */
  readonly isModern: boolean;
  readonly rendering: Pick<Rendering, 'requestTools'>;
  readonly holding: Pick<HoldSettings, 'requestByItself'>;
}

const WITH_TASKS =
  'With tasks, such a call returns a task: keep its id, poll tasks/get, and answer its questions with tasks/update. The tool has ' +
  'not run until the task says so. Without tasks:';

/** The server instructions about approvals. They name only what the client's revision and the operator's settings support. */
export function instructionsFor({ isModern, rendering, holding }: InstructionsFor): string {
  // The client's capabilities are not known yet.
  const withTasks = isModern ? `${WITH_TASKS} ` : '';
  return `Some tools need an approval before they run. ${withTasks}${withoutTasks(rendering, holding)}`;
}

function withoutTasks(
  { requestTools }: Pick<Rendering, 'requestTools'>,
  { requestByItself }: InstructionsFor['holding'],
): string {
  const { requestAccess, requestStatus } = OWN_TOOLS;
  const poll = `call ${requestStatus} once with its request reference`;
  const stop = 'If the request is still open then, end your turn and say so.';
  const notYet = 'The tool has not run until an answer says so.';
  if (requestByItself) {
    const then = requestTools ? poll : 'repeat the same call once, which joins the request';
    return `Such a call requests its approval by itself, and waits a while for its result. If the answer says that a person has to approve it first, tell your user so, and ${then}. ${stop} ${notYet}`;
  }
  return requestTools
    ? `Such a call is refused. To request its approval, call ${requestAccess} with it, and tell your user so; to get its result, ${poll}. ${stop} ${notYet}`
    : 'Such a call is refused, and nothing is requested: only a client with tasks can request an approval.';
}
