import { isAuthorized, policyToJson } from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ANOTHER, couldApply, type KnownOfRequest } from '../../../apps/pdp/engine/cedar/conditions.ts';
import { times } from '../../support/regime.ts';

const APPROVED = 'context has approval && context.approval.verified && context.approval.template == "boss"';

describe('conditions, for a request with few known members,', () => {
  const atom = fc.constantFrom(
    ...[
      'true',
      'false',
      'context has approval',
      'context has approval.template',
      'context has amount',
      'context.amount > 3',
    ],
    ...[
      'context.approval.verified',
      '!context.approval.verified',
      'context.approval.template == "boss"',
      '"boss" != context.approval.template',
    ],
    ...[
      'context.approval.template like "b*s"',
      '["boss", "chief"].contains(context.approval.template)',
      'context.approval has template',
    ],
    ...[
      'resource.id == "a"',
      'resource.id like "a*"',
      '["a", "x"].contains(resource.id)',
      'resource.type != "tool"',
      'principal has active && principal.active',
    ],
    ...[
      'resource == Resource::"tool|a"',
      '(if context has amount then context.approval else {verified: true, template: "boss"}).verified',
    ],
  );
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc
        .tuple(tie('condition'), fc.constantFrom('&&', '||', '=='), tie('condition'))
        .map(([a, op, b]) => `((${a}) ${op} (${b}))`),
      tie('condition').map((a) => `!(${a})`),
      fc
        .tuple(tie('condition'), tie('condition'), tie('condition'))
        .map(([a, b, c]) => `(if ${a} then (${b}) else (${c}))`),
    ),
  }));
  const REQUESTS = [undefined, 'boss', 'chief', 'bus'].flatMap((template) =>
    ['a', 'ab', 'b'].flatMap((id) => [
      { template, id, amount: 5 },
      { template, id, amount: undefined },
    ]),
  );
  /** Cedar's own term. */
  const permits = (policy: string, { template, id, amount }: (typeof REQUESTS)[number]) => {
    const answer = isAuthorized({
      principal: { type: 'Subject', id: 'p|alice' },
      action: { type: 'Action', id: 'tools/call' },
      resource: { type: 'Resource', id: `tool|${id}` },
      context: { ...(amount && { amount }), ...(template && { approval: { verified: true, template } }) },
      policies: { staticPolicies: policy },
      entities: [
        { uid: { type: 'Subject', id: 'p|alice' }, attrs: { type: 'p', id: 'alice', active: true }, parents: [] },
        { uid: { type: 'Resource', id: `tool|${id}` }, attrs: { type: 'tool', id }, parents: [] },
      ],
    });
    return answer.type === 'success' && answer.response.decision === 'allow';
  };
  const knownOf = ({ template, id }: (typeof REQUESTS)[number]): readonly KnownOfRequest[] => {
    const approval = template === undefined ? 'none' : { template };
    const isNamed = template === undefined || ['boss', 'chief'].includes(template);
    const resource = { type: 'tool', id };
    return [
      { approval: 'any' },
      { approval },
      { approval, resource },
      ...(isNamed ? [] : [{ approval: { template: ANOTHER } }]),
    ];
  };

  it('could always apply if Cedar permits', () => {
    fc.assert(
      fc.property(condition, fc.constantFrom('when', 'unless'), (text, kind) => {
        const policy = `permit (principal, action, resource) ${kind} { ${text} };`;
        const parsed = policyToJson(policy);
        if (parsed.type === 'failure') throw new Error(`${policy}: ${JSON.stringify(parsed.errors)}`);
        const { conditions } = parsed.json;
        for (const request of REQUESTS.filter((one) => permits(policy, one)))
          for (const known of knownOf(request))
            expect([policy, known, couldApply(conditions, known)]).toEqual([policy, known, true]);
      }),
      { numRuns: times(30, 300) },
    );
  });

  it('could not apply without the approval that a permit needs', () => {
    fc.assert(
      fc.property(condition, condition, (before, behind) => {
        const parsed = policyToJson(
          `permit (principal, action, resource) when { (${before}) && ${APPROVED} && (${behind}) };`,
        );
        if (parsed.type === 'failure') throw new Error(JSON.stringify(parsed.errors));
        const { conditions } = parsed.json;
        expect(couldApply(conditions, { approval: 'none' })).toBe(false);
        expect(couldApply(conditions, { approval: { template: ANOTHER } })).toBe(false);
      }),
      { numRuns: times(30, 300) },
    );
  });
});
