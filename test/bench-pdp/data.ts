import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { EvaluationRequest } from '../../workflows/domain/authzen/evaluation.ts';

/** Policies about each action. More policies mean more actions, not more policies about one action. */
const PER_ACTION = 10;
const CEDAR_FILES = 20;
/** The action that needs an approval. Cerbos has no equivalent. */
const NEEDS_APPROVAL = 'ask';

/** One rule, written in the language of each contender. */
interface Rule {
  readonly id: string;
  readonly action: string;
  readonly effect: 'permit' | 'forbid';
  readonly department: string;
  /** Level of the resource: at most this for a permit, above this for a forbid. */
  readonly level: number;
}

function rulesOf(count: number): Rule[] {
  return Array.from({ length: count }, (_, index) => {
    const nth = index % PER_ACTION;
    const isLast = nth === PER_ACTION - 1;
    return {
      id: `rule-${index}`,
      action: `act-${Math.floor(index / PER_ACTION)}`,
      effect: isLast ? 'forbid' : 'permit',
      department: isLast ? 'department-0' : `department-${nth}`,
      level: isLast ? 3 : nth,
    };
  });
}

const actionsOf = (rules: readonly Rule[]) => [...new Set(rules.map(({ action }) => action))];

/** Writes a Cedar policy folder and a Cerbos policy folder that say the same. */
export function writePolicies(count: number, folders: { cedar: string; cerbos: string }): void {
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  const rules = rulesOf(count);
  writeFileSync(join(folders.cedar, 'schema.cedarschema'), schemaOf(rules));
  writeFileSync(join(folders.cedar, 'entities.json'), '[]');
  writeFileSync(join(folders.cedar, 'ask.cedar'), ASK);
  for (let file = 0; file < CEDAR_FILES; file += 1) {
    const text = rules.filter((_, index) => index % CEDAR_FILES === file).map(inCedar);
    if (text.length > 0) writeFileSync(join(folders.cedar, `rules-${file}.cedar`), text.join('\n'));
  }
  for (let from = 0; from < rules.length; from += PER_ACTION) {
    const [first, ...rest] = rules.slice(from, from + PER_ACTION);
    if (first === undefined) break;
    writeFileSync(join(folders.cerbos, `${first.action}.yaml`), stringify(inCerbos(first.action, [first, ...rest])));
  }
}

const schemaOf = (rules: readonly Rule[]) => `
type Approval = { verified: Bool, template: String };
entity Subject = { type: String, id: String, properties: { department: String } };
entity Resource = { type: String, id: String, properties: { level: Long } };
action ${actionsOf(rules)
  .map((action) => `"${action}"`)
  .join(', ')} appliesTo { principal: Subject, resource: Resource, context: {} };
action "${NEEDS_APPROVAL}" appliesTo { principal: Subject, resource: Resource, context: { approval?: Approval } };
`;

const ASK = `
@id("ask") @requestable("operator_approval") @reason("approval_required")
permit (principal, action == Action::"${NEEDS_APPROVAL}", resource)
when { context has approval && context.approval.verified && context.approval.template == "operator_approval" };
`;

const inCedar = ({ id, action, effect, department, level }: Rule) => `
@id("${id}") ${effect} (principal, action == Action::"${action}", resource)
when { principal.properties.department == "${department}" && resource.properties.level ${effect === 'permit' ? '<=' : '>'} ${level} };`;

const inCerbos = (action: string, rules: readonly Rule[]) => ({
  apiVersion: 'api.cerbos.dev/v1',
  resourcePolicy: {
    resource: `thing-of-${action}`,
    version: 'default',
    rules: rules.map(({ id, effect, department, level }) => ({
      name: id,
      actions: [action],
      effect: effect === 'permit' ? 'EFFECT_ALLOW' : 'EFFECT_DENY',
      roles: ['*'],
      condition: {
        match: {
          expr: `P.attr.department == "${department}" && R.attr.level ${effect === 'permit' ? '<=' : '>'} ${level}`,
        },
      },
    })),
  },
});

/**
 * `new`: each request differs from all others in the attributes that the policies read. `recurring`: whole requests
 * repeat.
 */
export const KINDS = ['new', 'recurring'] as const;
export type Kind = (typeof KINDS)[number];

/** The number of different requests of the kind `recurring`. */
const RECURRING = 2_000;

/** The nth evaluation request: over all actions and departments, about half of them permitted. */
export function requestOf(nth: number, count: number, kind: Kind): EvaluationRequest {
  if (kind === 'recurring') return requestOf(nth % RECURRING, count, 'new');
  const action = `act-${(nth * 7_919) % Math.ceil(count / PER_ACTION)}`;
  // Below every limit, or above all of them.
  const sign = Math.floor(nth / PER_ACTION) % 2 === 0 ? -1 : 1;
  return {
    subject: {
      type: 'identity',
      id: `person-${nth % 1_000}`,
      properties: { department: `department-${nth % PER_ACTION}` },
    },
    action: { name: action },
    resource: {
      type: `thing-of-${action}`,
      id: `thing-${nth % 997}`,
      properties: { level: sign * (PER_ACTION + nth) },
    },
    context: {},
  };
}

/** The nth request that an approval would permit. */
export const curableRequestOf = (nth: number): EvaluationRequest => ({
  ...requestOf(nth, PER_ACTION, 'new'),
  action: { name: NEEDS_APPROVAL },
  context: { agent: 'agent-7', call_digest: `sha-256:${String(nth).padStart(64, '0')}` },
});
